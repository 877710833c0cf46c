"""Threads that wait where their stack needs registers: they are had where a stop changes nothing,
and only there."""
import os
import signal
import subprocess
import time

from support.cases import HarmTest
from support.outcome import main
from support.processes import state, status, threads, wait_until
from support.programs import is_sanitized, programs
from support.targets import HarmTarget
from support.wallspy import JOB, Wallspy, dump_text


class Faults(HarmTest):
    def record(self, kind, page_ms, seconds, snapshots=1):
        """The profile of a thread that waits for pages, and how many it got a second.  SNAPSHOTS:
        made meanwhile, and one."""
        with HarmTarget("faults", kind, page_ms) as target:
            started = time.monotonic()
            with Wallspy(target.pid, rate=100) as wallspy:
                # it does not read the page itself, the vdso being next
                self.assertLess(time.monotonic() - started, 2.5)
                began, before = time.monotonic(), target.counts()["done"]
                for i in range(snapshots):
                    time.sleep(seconds / snapshots)
                    if i:
                        wallspy.process.send_signal(signal.SIGUSR1)
                rate = (target.counts()["done"] - before) / (time.monotonic() - began)
                asked = time.monotonic()
                profile = wallspy.stop()
                self.assertLess(time.monotonic() - asked, 1.5)
            self.recorded_s = time.monotonic() - started
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        return profile, rate

    def waits(self, profile):
        """For how long it was seen to wait for a page: with its whole stack, and without.  Little
        is missed."""
        rows = [row for name, rows in profile.walls().items() if "waiter" in name for row in rows]
        seen = {True: 0, False: 0}
        self.assertLess(sum(seconds for stack, seconds in rows if not stack), 0.1, profile)
        for stack, seconds in rows:
            if "[page fault]" in stack:
                self.assertIn("wait_for_page", stack)
                seen["fault_main" in stack] += seconds
        return seen[True], seen[False]

    def test_a_page_of_a_disk(self):
        """The stop that is asked for comes with the page, and tells where it was waited for.  What
        lasts at the end is read without; an interruptible wait may be among them, too."""
        for page_ms in 3, 20, 300:
            with self.subTest(page_ms=page_ms):
                whole, cut = self.waits(self.record("ahead", page_ms, 2)[0])
                self.assertGreater(whole, 1.5)
                self.assertLessEqual(cut, page_ms / 1000 + 0.04)

    def test_a_page_that_does_not_come(self):
        """What can be read without a stop is told, for all of the time, and of all others."""
        profile, _ = self.record("ahead", 5000, 1)
        self.assertGreater(sum(self.waits(profile)), 0.95)
        self.assertGreater(profile.seconds("read pipe"), 0.95)

    def test_snapshots_of_one_page(self):
        """What they tell is told once."""
        profile, _ = self.record("ahead", 5000, 2, snapshots=6)
        seconds = sum(self.waits(profile))
        self.assertGreater(seconds, 1.9)
        self.assertLessEqual(seconds, self.recorded_s)  # some 2.2, more on a busy machine

    def test_ctrl_z_meanwhile(self):
        """It is obeyed when the page has come: until then a thread could be held for as long as
        wallspy is stopped.  Also where others take the CPUs, and the thread waits for its next page
        before wallspy has one."""
        for _ in range(4 * os.cpu_count()):
            other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)
        with HarmTarget("faults", "ahead", 1500) as target:
            with Wallspy(target.pid, rate=100, prefix=JOB) as wallspy:
                wallspy.process.send_signal(signal.SIGTSTP)
                wait_until(lambda: state(wallspy.process.pid) == "T",
                           5)
                self.assert_unharmed(target)
                wallspy.process.send_signal(signal.SIGCONT)
                wallspy.stop()
            self.assert_unharmed(target)

    def test_ctrl_z_of_a_dump(self):
        """It is obeyed when the dump is done with its threads: one of them was asked to stop, and
        does when its page comes."""
        with HarmTarget("faults", "ahead", 1500) as target:
            line = [*JOB, programs["wallspy"], "dump", "-p", str(target.pid)]
            with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as dump:
                try:
                    wait_until(lambda: self.is_traced(target.pid))
                    dump.send_signal(signal.SIGTSTP)
                    wait_until(lambda: state(dump.pid) == "T")
                    done = target.counts()["done"]
                    wait_until(lambda: target.counts()["done"] > done + 1,
                               what="no page comes")
                    self.assert_unharmed(target)
                    dump.send_signal(signal.SIGCONT)
                    self.assertIn("wait_for_page", dump.communicate()[0])
                    self.assertEqual(dump.returncode, 0)
                finally:
                    dump.kill()
            self.assert_unharmed(target)

    def is_traced(self, pid):
        return any(status(pid, "TracerPid", tid) != "0" for tid in threads(pid))

    def test_a_page_that_a_stop_would_undo(self):
        """It takes longer than the interval: asked to stop at each tick, the thread would never get
        it."""
        profile, rate = self.record("random", 30, 1.5)
        self.assertGreater(rate, 15)
        self.assertGreater(sum(self.waits(profile)), 0.8)

    def test_short_waits(self):
        """They are over before the worker can say that it needs registers: it says so once.  It
        needs them also where it could guess."""
        for kind in "poll", "no_cfi":
            with self.subTest(kind=kind):
                with HarmTarget("faults", kind, 4) as target:
                    with Wallspy(target.pid, rate=100) as wallspy:
                        time.sleep(1.5)
                        profile = wallspy.stop()
                    self.assert_unharmed(target)
                    self.assertEqual(target.finish()["wrong"], 0)
                self.assert_seen(profile, "in_odd_frame", 1.3)
                self.assert_seen(profile, "poll_main", 1.3)

    def test_the_time_out_of_a_socket(self):
        """A read that is stopped would wait for all of it again."""
        with HarmTarget("faults", "socket", 1000) as target:
            began = time.monotonic()
            while time.monotonic() - began < 4:
                dump_text(programs["wallspy"], target.pid, "--now", "--freeze")
            self.assert_unharmed(target)
            counts = target.finish()
        self.assertEqual(counts["wrong"], 0)
        self.assertGreaterEqual(counts["done"], 3)

    def dump(self, pid):
        text = dump_text(programs["wallspy"], pid, "--full")
        return text[text.index(" waiter "):]

    def test_a_call_that_a_stop_would_end(self):
        """SIGSTOP has ended it already: then all of the stack is told."""
        with HarmTarget("faults", "epoll") as target:
            wait_until(lambda: "wait_for_event" in self.dump(target.pid))
            if not is_sanitized():  # else the frame is not odd
                self.assertNotIn("epoll_main", self.dump(target.pid))
            self.assertEqual(target.counts()["wrong"], 0)  # no EINTR
            target.process.send_signal(signal.SIGSTOP)
            wait_until(lambda: state(target.pid) == "T")
            self.assertIn("epoll_main", self.dump(target.pid))
            with Wallspy(target.pid, "-d", "1") as wallspy:
                profile = wallspy.ends()
            # 1 on a quiet machine, 100 if each tick did.  A stop where others take the CPU may look
            # like a move of the thread's own, and asks for another one.
            self.assertLess(profile.facts["stops"], 25)
            # Who waits with its whole stack may be shown among the idle, which have no time line.
            self.assertIn("epoll_main", profile.frames)
            self.assertLess(profile.seconds("[truncated]"), 0.1, profile)
            self.assertEqual(state(target.pid), "T")
            target.process.send_signal(signal.SIGCONT)
            self.assert_unharmed(target)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
