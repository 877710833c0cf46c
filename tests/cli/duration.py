"""A recording with -d is over in time, whether or not anything of the target moves."""
import re
import unittest

from support.outcome import main
from support.targets import CliTarget
from support.wallspy import run

ASKED_S = 0.3
TRIES = 6


def recorded_s(target):
    """How long a recording was, by what wallspy says of its file."""
    code, _, text, _ = run(target.pid, "-d", ASKED_S, "-o", "/dev/null", "-f", "folded", user=False)
    assert code == 0, text
    return float(re.search(r"\([\d.]+ kB, ([\d.]+) s\)", text).group(1))


class Duration(unittest.TestCase):
    def test_it_ends_in_time(self):
        """wallspy wakes for its terminal twice a second, and that is no moment to end at.  A
        machine without a CPU for it makes one try late, and hardly each."""
        with CliTarget("plain", user=False) as target:
            longest_s = ASKED_S + 0.1
            tries = []
            while len(tries) < TRIES and not (tries and min(tries) <= longest_s):
                tries.append(recorded_s(target))
        self.assertLessEqual(min(tries), longest_s, tries)
        self.assertGreaterEqual(min(tries), ASKED_S - 0.1, tries)


if __name__ == "__main__":
    main(__doc__, "wallspy", "deny", "target")
