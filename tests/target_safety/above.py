"""Stacks directly below memory whose reading has a price: wallspy reads to their end, no
further."""
import os
import subprocess
import tempfile
import time

from support.cases import HarmTest
from support.outcome import main
from support.processes import wait_until
from support.programs import programs
from support.recording import Recording
from support.targets import HarmTarget, skip_if_said
from support.wallspy import Wallspy, dump_text, succeed


class Above(HarmTest):
    def record(self, *kind, options=(), environment=None):
        """The profile of 1.5 s, and what the target counted."""
        with HarmTarget("above", *kind) as target:
            with Wallspy(target.pid, *options, rate=100,
                         environment=environment) as wallspy:
                before = target.counts()["done"]
                time.sleep(1.5)
                done = target.counts()["done"] - before
                asked = time.monotonic()
                profile = wallspy.stop()
                self.assertLess(time.monotonic() - asked, 2)
            self.assert_unharmed(target)
            counts = target.finish()
        self.assertGreater(done, 50, profile)
        self.assertEqual(counts["faults"], 0)
        self.assertEqual(counts["blocks"], 0)
        self.assertLess(profile.facts["held_max_ns"], 50e6)
        return profile

    def assert_whole(self, profile, name):
        """Almost all stacks reach NAME; one of the first may be cut, as its end was not known."""
        self.assert_seen(profile, name, 1.2)
        self.assertLess(profile.seconds("[truncated]"), 0.1, profile)

    def test_userfaultfd(self):
        self.assert_whole(self.record("userfaultfd"), "work_main")

    def test_slow_file(self):
        self.assert_whole(self.record("slow"), "work_main")

    def test_memfd(self):
        self.assert_whole(self.record("memfd"), "work_main")

    def test_memfd_without_stops(self):
        profile = self.record("memfd", options=["--no-stop"])
        self.assert_seen(profile, "work_main", 0.1)  # asleep; the rest has no native frames

    def test_alternate_signal_stack(self):
        self.assert_whole(self.record("userfaultfd", "signal"), "signal_main")

    def test_kernels_before_6_11(self):
        """They tell of single mappings only in the list of all."""
        profile = self.record("userfaultfd", environment={"WALLSPY_NO_PROCMAP_QUERY": "1"})
        self.assert_whole(profile, "work_main")

    def test_dump(self):
        """Once, in a hold of its own, it reads much more."""
        with HarmTarget("above", "userfaultfd") as target:
            for option in (), ("--freeze",), ("--no-stop",):
                self.assertIn("worker", dump_text(programs["wallspy"], target.pid, *option))
            self.assertIn("work_main", dump_text(programs["wallspy"], target.pid))
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["faults"], 0)


class Watchdog(HarmTest):
    """A page of the stack itself does not come: the hold ends, and the recording is written."""
    SAYS = "sampling ended: a thread was held for 0.25 s"

    def assert_let_go(self, target):
        before = target.counts()
        self.assertLess(before["still_ms"], 1500)
        time.sleep(0.1)
        self.assertGreater(target.counts()["done"], before["done"])
        self.assert_unharmed(target)

    def test_record(self):
        with HarmTarget("above", "hole") as target:
            with Wallspy(target.pid, rate=100, ready=False) as wallspy:
                profile = wallspy.ends(10)
                self.assertIn(f"{self.SAYS}, because a read of its memory lasted "
                              "(userfaultfd serves it);", " ".join(wallspy.text().split()))
            self.assertEqual(profile.facts["stuck"], 1)
            self.assertGreater(profile.seconds("read pipe"), 0.1)  # of the main thread
            self.assert_let_go(target)

    def test_dump(self):
        with HarmTarget("above", "hole") as target:
            dumped = succeed([programs["wallspy"], "dump", "-p", target.pid], timeout=10)
            self.assertIn(self.SAYS, " ".join(dumped.stderr.split()))
            self.assertIn("main", dumped.stdout)
            self.assert_let_go(target)

    def test_nobody_is_held(self):
        """The thread sleeps, and is read without a stop."""
        with HarmTarget("above", "asleep") as target:
            for line in ["record", "-d", "1", "-f", "folded", "-o", "/dev/null"], ["dump"]:
                done = succeed([programs["wallspy"], *line, "-p", target.pid], timeout=15)
                self.assertIn("sampling ended: memory of a process", " ".join(done.stderr.split()))
            self.assert_unharmed(target)

    def test_launched(self):
        """Who waits for wallspy waits for the command, and gets its status."""
        target = os.path.join(programs["targets"], "above")
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "out.json")
            line = [programs["wallspy"], "record", "-o", output, "--", target, "hole", "7"]
            with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as wallspy:
                skip_if_said(wallspy.stdout.readline().strip())
                wait_until(lambda: os.path.exists(output))
                self.assertIsNone(wallspy.poll())
                _, said = wallspy.communicate(timeout=10)
            self.assertEqual(wallspy.returncode, 7)
            self.assertIn(self.SAYS, " ".join(said.split()))
            Recording(output)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
