"""A file server that does not answer any more: wallspy names it, and ends when it is told to."""
import os
import pathlib
import re
import signal
import subprocess
import time

from support.cases import HarmTest
from support.outcome import main
from support.processes import wait_until
from support.programs import programs
from support.targets import HarmTarget, parse_counts
from support.wallspy import Wallspy


class Hung(HarmTest):
    def setUp(self):
        super().setUp()
        self.target = HarmTarget("hung")
        self.addCleanup(self.target.end)
        mounts = pathlib.Path(f"/proc/{self.target.pid}/mountinfo").read_text()
        self.addCleanup(os.rmdir, re.search(r" (/tmp/wallspy-slow-\S+) ", mounts).group(1))
        self.server = parse_counts(self.target.first)["server"]
        os.kill(self.server, signal.SIGSTOP)
        self.addCleanup(os.kill, self.server, signal.SIGCONT)

    def said(self, text):
        return " ".join(text.split())

    def test_record(self):
        """The unwinder wants the file; the second request to end is one too many for patience."""
        with Wallspy(self.target.pid, rate=100, ready=False) as wallspy:
            wait_until(lambda: "fuse.slow on slow" in self.said(wallspy.text()), 6,
                               "it names no file server")
            self.assertIn("wallspy-slow-", wallspy.text())
            self.assert_unharmed(self.target)
            for _ in range(3):
                self.assertIsNone(wallspy.process.poll())
                wallspy.process.send_signal(signal.SIGINT)
                time.sleep(0.3)
            self.assertEqual(wallspy.process.wait(5), -signal.SIGINT)
        self.assert_unharmed(self.target)

    def test_dump(self):
        """It ends with the first signal."""
        with subprocess.Popen([programs["wallspy"], "dump", "-p", str(self.target.pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as dump:
            try:
                said = ""
                deadline = time.monotonic() + 6
                while "fuse.slow on slow" not in self.said(said):
                    self.assertLess(time.monotonic(), deadline, said)
                    said += dump.stderr.readline()
                dump.send_signal(signal.SIGINT)
                self.assertEqual(dump.wait(5), -signal.SIGINT)
            finally:
                dump.kill()
        self.assert_unharmed(self.target)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
