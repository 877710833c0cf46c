"""Stacks directly below memory whose reading has a price: wallspy reads no further than to their end."""
import subprocess
import time

import harness


class Above(harness.HarmTest):
    def record(self, *kind, options=(), environment=None):
        """The profile of 1.5 s, and what the target counted."""
        with harness.Target("above", *kind) as target:
            if target.first == "skip":
                self.skipTest(f"{kind[0]} is not to be had here")
            with harness.Wallspy(target.pid, *options, rate=100, environment=environment) as wallspy:
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
        self.assertLess(profile.counts["held_max_ns"], 50e6)
        return profile

    def assert_whole(self, profile, name):
        """Almost all stacks reach NAME: one of the first may be cut where the stack was not known yet."""
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
        self.assert_seen(profile, "work_main", 0.5)  # asleep; the rest has no native frames

    def test_alternate_signal_stack(self):
        self.assert_whole(self.record("userfaultfd", "signal"), "signal_main")

    def test_kernels_before_6_11(self):
        """They tell of single mappings only in the list of all."""
        profile = self.record("userfaultfd", environment={"WALLSPY_NO_PROCMAP_QUERY": "1"})
        self.assert_whole(profile, "work_main")

    def dump(self, pid, *options):
        return subprocess.run([harness.programs["wallspy"], "dump", "-p", str(pid), *options],
                              check=True, capture_output=True, text=True, timeout=20).stdout

    def test_dump(self):
        """Once, in a hold of its own, it reads much more."""
        with harness.Target("above", "userfaultfd") as target:
            if target.first == "skip":
                self.skipTest("userfaultfd is not to be had here")
            for option in (), ("--freeze",), ("--no-stop",):
                self.assertIn("worker", self.dump(target.pid, *option))
            self.assertIn("work_main", self.dump(target.pid))
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["faults"], 0)


if __name__ == "__main__":
    harness.main()
