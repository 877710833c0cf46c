"""Stacks directly below memory whose reading has a price: wallspy reads to their end, no
further."""
import contextlib
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import time

from support.cases import HarmTest
from support.outcome import main
from support.processes import threads, wait_until
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
    """A page of the stack itself does not come: the hold ends, and the recording goes on without
    that process."""
    HELD = "a thread was held for 0.25 s"
    WHY = f"{HELD}, because reading memory took too long (userfaultfd serves it)"

    def await_goes_on(self, text, pid):
        """TEXT gives what wallspy has said."""
        said = f"{self.WHY}: process {pid} is left alone for 10 s, and sampling goes on."
        wait_until(lambda: said in " ".join(text().split()), what="wallspy does not go on")

    def assert_let_go(self, target):
        before = target.counts()
        self.assertLess(before["still_ms"], 1500)
        wait_until(lambda: target.counts()["done"] > before["done"], what="it is not let go")
        self.assert_unharmed(target)

    def test_record(self):
        with HarmTarget("above", "hole") as target:
            with Wallspy(target.pid, rate=100, ready=False) as wallspy:
                self.await_goes_on(wallspy.text, target.pid)
                self.assert_let_go(target)
                profile = wallspy.stop()
            self.assertEqual(profile.facts["left_alone"], 1)
            self.assertEqual(profile.facts["stuck"], 0)
            self.assertGreater(profile.facts["held_max_ns"], 0.25e9)
            self.assertGreater(profile.seconds("read pipe"), 0.1)  # of the main thread
            self.assert_let_go(target)

    def test_others_go_on(self):
        """They are sampled as before, and Ctrl-C's signal reaches the process that samples."""
        with HarmTarget("above", "hole") as target, HarmTarget("above", "memfd") as other:
            with Wallspy(target.pid, "-p", other.pid, rate=100, ready=False) as wallspy:
                self.await_goes_on(wallspy.text, target.pid)
                began = time.monotonic()
                time.sleep(1.5)
                seconds = time.monotonic() - began
                profile = wallspy.stop()
            self.assertGreater(profile.seconds("work_main"), 0.8 * seconds)
            self.assertGreater(profile.facts["left_alone_ns"], seconds * 1e9)
            self.assert_let_go(target)
            self.assert_unharmed(other)

    def test_another_is_let_go(self):
        """A thread without a CPU was asked to stop, and does so while memory of another process
        does not come."""
        cpu = min(os.sched_getaffinity(0))
        spins = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(spins.wait)
        self.addCleanup(spins.kill)
        os.sched_setaffinity(spins.pid, {cpu})
        with HarmTarget("work", "sums", "1") as starved, HarmTarget("above", "asleep") as target:
            for tid in set(threads(starved.pid)) - {starved.pid}:
                os.sched_setaffinity(tid, {cpu})
                os.sched_setscheduler(tid, os.SCHED_IDLE, os.sched_param(0))
            with Wallspy(starved.pid, "-p", target.pid, rate=100, ready=False) as wallspy:
                self.await_goes_on(wallspy.text, target.pid)
                rounds = starved.counts()["rounds"]
                wait_until(lambda: starved.counts()["rounds"] > rounds, what="it is not let go")
                profile = wallspy.stop()
            self.assertEqual(profile.facts["left_alone"], 1)
            self.assert_unharmed(starved)
            self.assert_unharmed(target)

    def test_its_file_grows_on(self):
        """The process that goes on has the pipe to the one that writes."""
        with tempfile.TemporaryDirectory() as folder, HarmTarget("above", "hole") as target:
            path = os.path.join(folder, "run.wallspy")
            with Wallspy(target.pid, "-o", path, rate=100, ready=False) as wallspy:
                self.await_goes_on(wallspy.text, target.pid)
                time.sleep(2.5)
                wallspy.stop()
                self.assertNotIn("is written at the end", " ".join(wallspy.text().split()))
            with contextlib.closing(sqlite3.connect(path)) as file:
                meta = dict(file.execute("SELECT key, value FROM meta").fetchall())
            self.assertEqual(meta["complete"], 1)
            self.assertGreater(meta["end_ns"], 2.5e9)
            self.assert_let_go(target)

    def test_killed(self):
        """Nobody samples on whose waiter was killed."""
        with HarmTarget("above", "hole") as target:
            with Wallspy(target.pid, rate=100, ready=False) as wallspy:
                self.await_goes_on(wallspy.text, target.pid)
                wallspy.process.kill()
                wait_until(lambda: os.path.exists(wallspy.output))
            self.assert_let_go(target)

    def test_dump(self):
        with HarmTarget("above", "hole") as target:
            dumped = succeed([programs["wallspy"], "dump", "-p", target.pid], timeout=10)
            self.assertIn(f"sampling ended: {self.HELD}", " ".join(dumped.stderr.split()))
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
            output, log = os.path.join(folder, "out.json"), pathlib.Path(folder, "log")
            line = [programs["wallspy"], "record", "-o", output, "-r", "100", "--", target, "hole",
                    "7"]
            with log.open("wb") as err, \
                    subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=err, text=True) as wallspy:
                skip_if_said(wallspy.stdout.readline().strip())
                wait_until(lambda: "sampling goes on." in " ".join(log.read_text().split()))
                self.assertIsNone(wallspy.poll())
                self.assertFalse(os.path.exists(output))
                wallspy.communicate(timeout=10)
            self.assertEqual(wallspy.returncode, 7)
            self.assertEqual(Recording(output).facts["left_alone"], 1)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
