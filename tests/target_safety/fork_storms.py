"""Threads and processes that come and go without pause: all work is done, and rightly."""
import time

from support.cases import HarmTest
from support.outcome import main
from support.targets import HarmTarget
from support.wallspy import Wallspy


class Storms(HarmTest):
    def storm(self, kind, at_least, *options):
        with HarmTarget("fork_storms", kind) as target:
            with Wallspy(target.pid, *options) as wallspy:
                before = target.counts()["done"]
                time.sleep(1.5)
                done = target.counts()["done"] - before
                profile = wallspy.stop()
            self.assert_unharmed(target)
            counts = target.finish()
        self.assertEqual(counts["wrong"], 0)
        self.assertEqual(counts["eintr"], 0)
        self.assertEqual(profile.facts["perturbed_calls"], 0)
        self.assertGreater(done, at_least)

    def test_vfork(self):
        self.storm("vfork", 150)

    def test_fork(self):
        self.storm("fork", 150)

    def test_clone(self):
        self.storm("clone", 1000)

    def test_vforked_children_are_followed(self):
        self.storm("vfork", 150, "-s")

    def test_forked_children_are_followed(self):
        self.storm("fork", 150, "-s")


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
