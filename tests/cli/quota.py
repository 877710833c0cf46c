"""wallspy in a cgroup with a CPU quota: it says when that throttles it, and lowers its rate.

usage: quota.py PROGRAM DENY TARGET [unittest's arguments]

Exits 77 where no such group can be made.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import main, programs, Target

NAME = f"wallspy-test-{os.getpid()}"


def make_group():
    """A group that may use a fiftieth of a CPU, by either version of cgroups; None: it cannot be
    made."""
    for top, file, text in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "2000"),
                            ("/sys/fs/cgroup", "cpu.max", "2000 100000")):
        group = pathlib.Path(top, NAME)
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / file).write_text(text)
            return group
        except OSError:
            group.rmdir()
    return None


class Quota(unittest.TestCase):
    def record(self, *args):
        """Records in the group; returns what was said, and the facts."""
        with Target("plain", user=False) as target, tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.json")
            line = [programs["program"], "-p", str(target.pid), "-o", str(output), *args]
            done = subprocess.run(["sh", "-c", 'echo $$ >"$0"/cgroup.procs; exec "$@"', str(group),
                                   *line], capture_output=True,
                                  text=True, timeout=60, check=True)
            return " ".join(done.stderr.split()), json.loads(output.read_text())["wallspy"]

    def test_throttled(self):
        said, facts = self.record("-r", "5000", "-d", "2")
        self.assertGreater(facts["throttled_periods"], 0)
        self.assertGreater(facts["throttled_s"], 0)
        self.assertIn("by its cgroup's CPU quota", said)
        self.assertGreater(facts["rate_lowered_for_quota"], 0)
        self.assertIn("half of its cgroup's CPU quota: rate lowered", said)


if __name__ == "__main__":
    group = make_group()
    if not group:
        print("no cgroup with a CPU quota can be made here")
        sys.exit(77)
    try:
        main(__doc__)
    finally:
        group.rmdir()
