"""Threads and processes that come and go without pause: all work is done, and rightly, also when
wallspy is killed while it follows them."""
import random
import time

from support.cases import HarmTest
from support.chance import SEED, rounds
from support.outcome import main
from support.processes import children, wait_until
from support.targets import HarmTarget
from support.wallspy import Wallspy

KILLS = 10


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

    def test_execs_are_followed(self):
        self.storm("exec", 50, "-s")

    def killed(self, kind):
        """Each of the two threads waits for its child, so a child that is left stopped stays."""
        chance = random.Random(SEED)
        with HarmTarget("fork_storms", kind) as target:
            for _ in range(rounds(KILLS)):
                with Wallspy(target.pid, "-s", ready=False) as wallspy:
                    time.sleep(chance.uniform(0, 0.25))
                    wallspy.process.kill()
                    wallspy.process.wait()
                self.assert_unharmed(target)
                left = set(children(target.pid))
                wait_until(lambda old=left: not old & set(children(target.pid)),
                           what="a child does not end")
            counts = target.finish()
        self.assertEqual((counts["wrong"], counts["eintr"]), (0, 0))

    def test_killed_while_it_follows_forks(self):
        self.killed("fork")

    def test_killed_while_it_follows_vforks(self):
        self.killed("vfork")

    def test_killed_while_it_follows_execs(self):
        self.killed("exec")


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
