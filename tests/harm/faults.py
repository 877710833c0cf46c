"""Threads that wait where their stack needs registers: they are had where a stop changes nothing, and only there."""
import signal
import subprocess
import time

import harness


class Faults(harness.HarmTest):
    def record(self, kind, page_ms, seconds):
        """The profile of a thread that waits for pages, and how many it got a second."""
        with harness.Target("faults", kind, page_ms) as target:
            if target.first == "skip":
                self.skipTest("FUSE is not to be had here")
            with harness.Wallspy(target.pid, rate=100) as wallspy:
                began, before = time.monotonic(), target.counts()["done"]
                time.sleep(seconds)
                rate = (target.counts()["done"] - before) / (time.monotonic() - began)
                profile = wallspy.stop()
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        return profile, rate

    def waits(self, profile):
        """For how long it was seen to wait for a page: with its whole stack, and without."""
        rows = [row for name, rows in profile.walls().items() if "waiter" in name for row in rows]
        seen = {True: 0, False: 0}
        for stack, seconds in rows:
            if "[page fault]" in stack:
                self.assertIn("wait_for_page", stack)
                seen["fault_main" in stack] += seconds
        return seen[True], seen[False]

    def test_a_page_of_a_disk(self):
        """The stop that is asked for comes with the page, and tells where it was waited for."""
        for page_ms in 3, 20, 80:
            with self.subTest(page_ms=page_ms):
                profile, _ = self.record("ahead", page_ms, 1.5)
                whole, cut = self.waits(profile)
                self.assertGreater(whole, 0.8)
                self.assertLessEqual(cut, 0.04, profile)  # two samples: an interruptible wait among them, or so

    def test_a_page_that_does_not_come(self):
        """What can be read without a stop is told, for all of the time."""
        profile, _ = self.record("ahead", 2500, 1)
        whole, cut = self.waits(profile)
        self.assertEqual(whole, 0)
        self.assertGreater(cut, 0.8)

    def test_a_page_that_a_stop_would_undo(self):
        """It takes longer than the interval: asked to stop at each tick, the thread would never get it."""
        profile, rate = self.record("random", 30, 1.5)
        self.assertGreater(rate, 15)
        self.assertGreater(sum(self.waits(profile)), 0.8)

    def dump(self, pid):
        text = subprocess.run([harness.programs["wallspy"], "dump", "-p", str(pid)], check=True,
                              capture_output=True, text=True).stdout
        return text[text.index("(waiter)"):]

    def test_a_call_that_a_stop_would_end(self):
        """SIGSTOP has ended it already: then all of the stack is told."""
        with harness.Target("faults", "epoll") as target:
            harness.wait_until(lambda: "wait_for_event" in self.dump(target.pid))
            self.assertNotIn("epoll_main", self.dump(target.pid))
            self.assertEqual(target.counts()["wrong"], 0)  # no EINTR
            target.process.send_signal(signal.SIGSTOP)
            harness.wait_until(lambda: harness.status(target.pid, "State")[0] == "T")
            self.assertIn("epoll_main", self.dump(target.pid))
            self.assertEqual(harness.status(target.pid, "State")[0], "T")
            target.process.send_signal(signal.SIGCONT)
            self.assert_unharmed(target)


if __name__ == "__main__":
    harness.main()
