"""An address space that is locked for long: nobody is held while wallspy waits for it."""
import re
import time

from support.cases import HarmTest
from support.outcome import main
from support.targets import HarmTarget
from support.wallspy import Wallspy


class Locked(HarmTest):
    def test_no_long_holds(self):
        with HarmTarget("locked") as target:
            with Wallspy(target.pid, rate=200) as wallspy:
                time.sleep(4)
                locked_us = target.counts()["locked_us"]
                profile = wallspy.stop()
            self.assert_unharmed(target)
        self.assertGreater(locked_us, 4000, "too fast to matter here")
        found = re.findall(r"<(\d+) us: (\d+)", profile.facts["holds"])
        holds = {int(us): int(n) for us, n in found}
        long = sum(n for us, n in holds.items() if us > 2048)
        print(f"locked for {locked_us / 1000:.1f} ms at a time; {long} of {sum(holds.values())} "
              f"holds were longer than 2 ms, the longest "
              f"{profile.facts['held_max_ns'] / 1e6:.1f} ms; "
              f"left out {profile.facts.get('memory_locked')}")
        # It may be locked just after the look.
        self.assertLessEqual(long, 3 + sum(holds.values()) // 5, profile)
        self.assertGreater(profile.facts.get("memory_locked", 0), 20, profile)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
