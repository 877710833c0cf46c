"""A file server that does not answer any more: wallspy names it, and ends when it is told to."""
import json
import os
import pathlib
import re
import signal
import time

from support.cases import HarmTest
from support.outcome import main
from support.processes import state, wait_until, wait_until_taken
from support.programs import programs
from support.targets import HarmTarget, parse_counts
from support.wallspy import Wallspy, call


class Hung(HarmTest):
    def setUp(self):
        super().setUp()
        self.target = HarmTarget("hung")
        self.addCleanup(self.target.end)
        mounts = pathlib.Path(f"/proc/{self.target.pid}/mountinfo").read_text()
        self.addCleanup(os.rmdir, re.search(r" (/tmp/wallspy-slow-\S+) ", mounts).group(1))
        self.server = parse_counts(self.target.first)["server"]

    def stop_server(self):
        """It takes no request any more."""
        os.kill(self.server, signal.SIGSTOP)
        self.addCleanup(os.kill, self.server, signal.SIGCONT)
        wait_until(lambda: state(self.server) == "T", 5, "it does not stop")

    def silence_server(self):
        """It takes requests, and answers none: whoever waits for that ends by no signal."""
        self.addCleanup(os.kill, self.server, signal.SIGKILL)  # the target closes its file then
        os.kill(self.server, signal.SIGUSR1)
        wait_until_taken(self.server, signal.SIGUSR1)

    def said(self, text):
        return " ".join(text.split())

    def test_record(self):
        """The unwinder wants the file; the second request to end is one too many for patience."""
        self.stop_server()
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

    def dump(self, options):
        begun = time.monotonic()
        ran = call([programs["wallspy"], "dump", *options, "-p", str(self.target.pid)], timeout=30)
        self.assertLess(time.monotonic() - begun, 6)
        self.assertEqual(ran.code, 6)
        self.assertRegex(self.said(ran.stderr), "fuse.slow on slow.* has not been read for "
                                                "a second. This is what /proc says")
        self.assertRegex(ran.stdout, rf"\b{self.target.pid}\b")
        if options:
            (process,) = json.loads(ran.stdout)["processes"]
            self.assertIn("blocked", {t["state"] for t in process["threads"]})

    def test_dump(self):
        """It waits for a second, and then shows what /proc says without that file."""
        self.stop_server()
        for options in [], ["--json"]:
            with self.subTest(options):
                self.dump(options)
        self.assert_unharmed(self.target)

    def test_dump_of_a_silent_server(self):
        """A thread of its waits for ever then, but nobody for it: the pipe of what it says ends."""
        self.silence_server()
        self.dump([])
        self.assert_unharmed(self.target)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
