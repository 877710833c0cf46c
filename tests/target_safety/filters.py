"""Threads under seccomp filters: that lack restart_syscall(2), or have a supervisor answer."""
import time

from support.cases import HarmTest
from support.outcome import main
from support.programs import programs
from support.targets import HarmTarget
from support.wallspy import Wallspy, dump_text


class Filters(HarmTest):
    def record(self, kind, seconds=3, rate=1000):
        with HarmTarget("filters", kind) as target:
            with Wallspy(target.pid, rate=rate) as wallspy:
                before = target.counts()["done"]
                time.sleep(seconds)
                self.assertIsNone(target.process.poll(), "the filter has killed it")
                self.assertGreater(target.counts()["done"] - before, 100 * seconds)
                profile = wallspy.stop()
            self.assert_unharmed(target)
            counts = target.finish()
        self.assertEqual(counts["filtered"], 1)
        self.assertEqual(counts["wrong"], 0)
        return profile, counts

    def test_restart_syscall_kills(self):
        profile, _ = self.record("kill")
        self.assert_seen(profile, "poll_in_odd_frame", 2)
        self.assertGreater(profile.facts["renewed_calls"], 0)

    def test_a_filter_that_comes_later(self):
        self.record("late")

    def test_restart_syscall_fails(self):
        self.record("errno")

    def test_dump(self):
        with HarmTarget("filters", "kill") as target:
            for option in ["--json"] * 20 + ["--freeze"] * 10:
                dump_text(programs["wallspy"], target.pid, option)
                self.assertIsNone(target.process.poll(), "the filter has killed it")
            self.assertEqual(target.finish()["wrong"], 0)

    def test_a_supervisor_is_asked_once(self):
        """But for a stop that comes before the thread was ever seen to wait for it."""
        profile, counts = self.record("notify", rate=200)
        twice = profile.facts["undone_calls"]
        self.assertLessEqual(counts["asked"] - counts["done"], 1 + twice)
        self.assertLessEqual(twice, 1, profile)
        self.assertGreater(profile.facts["supervised"], 50)
        self.assert_seen(profile, "getppid", 1)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
