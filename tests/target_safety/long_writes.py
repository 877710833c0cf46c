"""A write that waits again and again for its reader is not stopped each time it is found to run:
wallspy knows by the kernel's count of writes that it goes on.

usage: long_writes.py WALLSPY FOLDER [unittest's arguments]
"""
import unittest

from support.outcome import main
from support.targets import python_target
from support.unharmed import assert_unharmed
from support.wallspy import Wallspy

WRITES = 24  # of eight more than six are cut by chance in one of 400 runs
# The reader makes room for a page some thousand times a second, so each write runs, for
# microseconds, some thousand times.
SCRIPT = f"""
import os, sys, threading, time
reads, writes = os.pipe()
def drain():
    while os.read(reads, 4096):
        time.sleep(0.0002)
data = bytes(1 << 22)
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=drain, daemon=True).start()
short = sum(os.write(writes, data) < len(data) for _ in range({WRITES}))
print(short, flush=True)
sys.stdin.readline()
"""


class LongWrites(unittest.TestCase):
    def test_few_are_cut(self):
        with python_target(SCRIPT) as target, Wallspy(target.pid) as wallspy:
            target.say("\n")
            short = int(target.line(60))  # it writes for 8 s
            facts = wallspy.stop().facts
            assert_unharmed(target)
        self.assertGreater(facts["long_writes"], WRITES)
        # Stopped wherever it was found to run, each would be short.  Two of five are: found to run
        # before they were found to wait.
        self.assertLessEqual(short, WRITES * 3 // 4, facts["cut_calls"])


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
