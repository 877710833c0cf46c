"""tools/ that users and CI call: which files are checked.

usage: tools.py ROOT [unittest's arguments]
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def bring(self, *names):
        """Copies tools into a tools/ of the folder."""
        (self.folder / "tools").mkdir()
        for name in names:
            shutil.copy(ROOT / "tools" / name, self.folder / "tools")

    def call(self, *line, **how):
        return subprocess.run([self.folder / line[0], *line[1:]], cwd="/", capture_output=True, text=True,
                              check=False, **how)


class Tarball(InFolder):
    """A tree that is no clone."""

    def test_sources_and_nothing_that_was_built(self):
        self.bring("list-files")
        for name in ("base/a.c", "base/a.h", "docs/build.md", "build-test/b.c", "tests/x/__pycache__/c.pyc",
                     "tests/browser/node_modules/d.js", "wallspy-demo.json", "compile_commands.json"):
            self.write(name)
        self.assertEqual(self.call("tools/list-files").stdout.split(),
                         ["base/a.c", "base/a.h", "docs/build.md", "tools/list-files"])
        self.assertEqual(self.call("tools/list-files", r"\.h$").stdout.split(), ["base/a.h"])

    def test_a_check_finds_what_it_looks_for(self):
        self.bring("list-files", "check-sizes")
        self.assertEqual(self.call("tools/check-sizes").returncode, 0)
        self.write("base/a.c", "\n" * 501)
        done = self.call("tools/check-sizes")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "base/a.c: 501 lines, at most 500\ncheck-sizes: 1 too long\n"))

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_inside_of_another_clone(self):
        self.folder /= "other/tree"
        self.folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", self.folder.parent], check=True)
        self.bring("list-files")
        self.write("base/a.c")
        self.assertEqual(self.call("tools/list-files").stdout.split(), ["base/a.c", "tools/list-files"])


class Clone(InFolder):
    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_only_what_git_knows(self):
        self.bring("list-files")
        self.write("base/a.c")
        self.write("base/scratch.c")
        for line in (["init", "-q"], ["add", "base/a.c"]):
            subprocess.run(["git", *line], cwd=self.folder, check=True)
        self.assertEqual(self.call("tools/list-files").stdout.split(), ["base/a.c"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
