#!/usr/bin/env python3
"""`meson install` puts the program, its pages and its completions where they belong, and no more.

usage: install.py BUILD_DIR
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

given = {}
SKIPPED = 77


def wanted():
    """The files, by the folders that the build was set up with."""
    listed = subprocess.run(["meson", "introspect", "--buildoptions", given["build"]], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    option = {o["name"]: o["value"] for o in json.loads(listed)}
    files = [(option["bindir"], "wallspy")]
    files += [(option["mandir"] + "/man1", name)
              for name in ("wallspy.1", "wallspy-dump.1", "wallspy-standby.1",
                           "wallspy-doctor.1", "wallspy-report.1", "wallspy-export.1",
                           "wallspy-ctl.1")]
    files += [(option["datadir"] + "/bash-completion/completions", "wallspy"),
              (option["datadir"] + "/zsh/site-functions", "_wallspy"),
              (option["datadir"] + "/fish/vendor_completions.d", "wallspy.fish"),
              (option["datadir"] + "/wallspy", "SKILL.md")]
    return {os.path.join(option["prefix"], *file) for file in files}


class Install(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                ["meson", "install", "--no-rebuild", "-C", given["build"], "--destdir", folder],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertNotIn("Traceback", done.stdout)
            files = {os.path.join(path, name)[len(folder):]: os.path.join(path, name)
                     for path, _, names in os.walk(folder) for name in names}
            self.assertEqual(set(files), wanted())
            for name, path in files.items():
                self.assertEqual(os.stat(path).st_mode & 0o7777,
                                 0o755 if "/bin/" in name else 0o644, name)


if __name__ == "__main__":
    given["build"] = sys.argv[1]
    if not shutil.which("meson"):
        print("meson is not in PATH")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
