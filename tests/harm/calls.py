"""What a stop does to system calls, as docs/interrupted-calls.md says: the program sees none of it."""
import time

import harness

TROUBLE = ("eintr", "short", "early", "odd")


class Calls(harness.HarmTest):
    def test_waits(self):
        with harness.Target("calls") as target:
            time.sleep(1)
            alone = target.counts()
            with harness.Wallspy(target.pid) as wallspy:
                time.sleep(6)
                sampled = target.counts()
                profile = wallspy.stop()
            self.assert_unharmed(target)
            target.finish()
        for name, n in sampled.items():
            if name in TROUBLE or name.endswith(".bad"):
                self.assertEqual(n, alone[name], f"{name}: {sampled}")
            else:
                self.assertGreater(n - alone[name], 100, name)
        # Else nothing was tried: stops did meet calls that they would have interrupted.
        self.assertGreater(profile.counts["repaired_calls"], 0)
        self.assertEqual(profile.counts["perturbed_calls"], 0)

    def progress(self, kind):
        """How many calls were done in 3 s, what wallspy counted, and what the program saw."""
        with harness.Target("long_calls", kind) as target:
            if target.first == "skip":
                self.skipTest("this call is not to be had here")
            with harness.Wallspy(target.pid) as wallspy:
                before = target.counts()["done"]
                time.sleep(3)
                done = target.counts()["done"] - before
                profile = wallspy.stop()
            self.assert_unharmed(target)
            return done, profile, target.finish()

    def test_long_blocked_call(self):
        done, profile, counts = self.progress("blocked")
        self.assertGreater(done, 30)
        self.assertEqual((counts["eintr"], counts["wrong"]), (0, 0))
        self.assertEqual(profile.counts["perturbed_calls"], 0)

    def test_long_running_call(self):
        """At 1000 Hz without the progress rule it would never be done.  The call itself returns
        EINTR, each of which is counted; again if the thread is stopped before it could see it."""
        done, profile, counts = self.progress("running")
        self.assertGreater(done, 3)
        self.assertGreater(profile.counts["backed_off"], 0)
        self.assertGreaterEqual(profile.counts["perturbed_calls"], counts["eintr"])


if __name__ == "__main__":
    harness.main()
