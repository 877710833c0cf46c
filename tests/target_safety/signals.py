"""Signals of the target's own, job control, and right results, while it is sampled at 1000 Hz."""
import os
import signal
import time

from support.cases import HarmTest
from support.outcome import main
from support.processes import state, status, wait_until
from support.targets import HarmTarget
from support.wallspy import Wallspy

SIGNALS = 10000


class Signals(HarmTest):
    def test_every_signal_is_handled_once(self):
        with HarmTarget("work", "signals") as target:
            with Wallspy(target.pid) as wallspy:
                wait_until(lambda: target.counts()["handled"] >= SIGNALS, 15)
                profile = wallspy.stop()
            self.assert_unharmed(target)
            counts = target.finish()
        self.assertEqual(counts["handled"], SIGNALS)
        self.assertEqual((counts["misplaced"], counts["wrong"]), (0, 0))
        self.assertEqual(profile.facts["perturbed_calls"], 0)

    def test_right_results(self):
        with HarmTarget("work", "sums", 4) as target:
            with Wallspy(target.pid) as wallspy:
                time.sleep(2)
                profile = wallspy.stop()
            self.assert_unharmed(target)
            counts = target.finish()
        self.assertGreater(counts["rounds"], 1000)
        self.assertEqual(counts["wrong"], 0)
        self.assertGreater(profile.facts["stops"], 500)

    def test_only_the_sampler_hears_of_stops(self):
        # Taken by another thread, SIGCHLD would not wake the sampler, and a thread that stopped
        # after the poll would be held until the next tick.
        with HarmTarget("work", "sums", 1) as target:
            with Wallspy(target.pid) as wallspy:
                blocked = int(status(wallspy.process.pid, "SigBlk"), 16)
                wallspy.stop()
            target.finish()
        self.assertTrue(blocked >> signal.SIGCHLD - 1 & 1)

    def test_stop_and_continue(self):
        stopped_s = 0
        with HarmTarget("work", "sums", 3) as target:
            with Wallspy(target.pid) as wallspy:
                for _ in range(4):
                    time.sleep(0.2)
                    os.kill(target.pid, signal.SIGSTOP)
                    begun = time.monotonic()
                    time.sleep(0.3)
                    # Not at once: it may be asked to stop as the signal comes, and the machine
                    # busy.
                    wait_until(
                        lambda: state(target.pid) == "T"
                        and status(target.pid, "TracerPid") == "0", 1, "not left stopped")
                    os.kill(target.pid, signal.SIGCONT)
                    stopped_s += time.monotonic() - begun
                    before = target.counts()["rounds"]
                    wait_until(lambda: target.counts()["rounds"] > before + 20)
                profile = wallspy.stop()
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        # The three that compute were stopped all that time.
        workers = {name: rows for name, rows in profile.walls().items() if name.startswith("sums")}
        self.assertEqual(len(workers), 3)
        for name, rows in workers.items():
            seen_s = sum(weight for stack, weight in rows if "[stopped]" in stack)
            self.assertAlmostEqual(seen_s, stopped_s, delta=0.25 * stopped_s, msg=name)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
