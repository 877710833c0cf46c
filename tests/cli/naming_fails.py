"""A crash of libdw costs names, and nothing else.

usage: naming_fails.py WALLSPY LIBRARY TARGET
"""
import os
import subprocess

from support.cases import FolderTest
from support.outcome import main
from support.programs import is_sanitized, programs
from support.recording import Recording
from support.targets import Target
from support.unharmed import assert_let_go


class NamingFails(FolderTest):
    def setUp(self):
        super().setUp()
        linked = subprocess.run(["ldd", programs["wallspy"]], stdout=subprocess.PIPE, text=True,
                                check=False).stdout
        if "libdw.so" not in linked or is_sanitized():
            self.skipTest("libdw cannot be replaced in this wallspy")
        self.target = Target([programs["target"], "plain"])
        self.addCleanup(self.target.end)

    def run_wallspy(self, *line):
        done = subprocess.run([programs["wallspy"], *line, "-p", str(self.target.pid)],
                              env={**os.environ, "LD_PRELOAD": programs["library"]},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        assert_let_go(self.target.pid)
        return done.stdout, " ".join(done.stderr.split())

    def test_a_recording_is_whole(self):
        _, said = self.run_wallspy("-d", "0.5", "-o", "out.json")
        written = Recording("out.json")
        name = os.path.basename(programs["target"])
        self.assertGreater(written.facts["frames_unnamed"], 0)
        self.assertEqual(written.facts["naming_failed"], f"{name} (Illegal instruction)")
        self.assertIn("without a name because naming failed: "
                      f"{name} (Illegal instruction);", said)
        frames = set(written.frames)
        self.assertTrue(any(frame.startswith(f"{name}+0x") for frame in frames), frames)
        self.assertTrue(any("pause" in frame for frame in frames), frames)

    def test_a_dump_is_whole(self):
        said, _ = self.run_wallspy("dump")
        self.assertIn("second", said)
        self.assertIn("pause", said)


if __name__ == "__main__":
    main(__doc__, "wallspy", "library", "target")
