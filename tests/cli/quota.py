"""wallspy in a cgroup with a CPU quota: it says when that throttles it, and lowers its rate.

usage: quota.py WALLSPY DENY TARGET [unittest's arguments]

Skipped where no such group can be made.
"""
import pathlib
import tempfile
import unittest

from support.cpu import IN_GROUP, quota_group
from support.outcome import Skipped, main
from support.programs import programs
from support.recording import Recording
from support.targets import CliTarget
from support.wallspy import succeed


class Quota(unittest.TestCase):
    def setUp(self):
        """A fiftieth of a CPU."""
        try:
            context = quota_group(2000, 100000)
            self.group = context.__enter__()
        except Skipped as reason:
            self.skipTest(str(reason))
        self.addCleanup(context.__exit__, None, None, None)

    def record(self, *args):
        """Records in the group; returns what was said, and the facts."""
        with CliTarget("plain", user=False) as target, tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.json")
            ran = succeed([*IN_GROUP, self.group, programs["wallspy"], "-p", target.pid,
                           "-o", output, *args])
            return " ".join(ran.stderr.split()), Recording(output).facts

    def test_throttled(self):
        said, facts = self.record("-r", "5000", "-d", "2")
        self.assertGreater(facts["throttled_periods"], 0)
        self.assertGreater(facts["throttled_s"], 0)
        self.assertIn("by its cgroup's CPU quota", said)
        self.assertGreater(facts["rate_lowered_for_quota"], 0)
        self.assertIn("half of its cgroup's CPU quota: rate lowered", said)


if __name__ == "__main__":
    main(__doc__, "wallspy", "deny", "target")
