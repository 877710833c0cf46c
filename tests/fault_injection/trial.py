"""What must hold after every trial, whatever went wrong in wallspy: the target lives, is neither
stopped nor traced, and computes rightly; the output is whole or absent.

The targets are those of tests/target_safety.
"""
import json
import os
import pathlib
import subprocess
import unittest

from support.processes import system_call, threads
from support.unharmed import assert_goes_on

# LeakSanitizer uses ptrace(2) and file descriptors, which are what is short here.
os.environ["LSAN_OPTIONS"] = "detect_leaks=0"
# No socket can be made there.  Without one a recording goes on, and -v alone says so: its calls
# would stand before those that are to fail here (a rename is tried once).
os.environ["WALLSPY_CTL_DIR"] = "/dev/null/sockets"
OLDER = '{"older": true}'
# This machine may be busy, and wait for its disk, too; a hang lasts for ever.
ENDS_WITHIN_S = 10 * max(1, os.getloadavg()[0] / os.cpu_count() / 4)

# A target in Python: two threads that compute the same over and over, one that mostly sleeps.
PYTHON = """
import hashlib, os, sys, threading, time
counts = {"rounds": 0, "wrong": 0}
def compute(n):
    return sum(i * i % 7 for i in range(n))
right = compute(500)
def work():
    while True:
        counts["wrong"] += compute(500) != right
        counts["rounds"] += 1
def rest():
    while True:
        time.sleep(0.002)
        hashlib.sha256(b"x" * 10000).hexdigest()
for main in (work, work, rest):
    threading.Thread(target=main, daemon=True).start()
def answer():
    print(" ".join(f"{k}={v}" for k, v in counts.items()), flush=True)
answer()
while os.read(0, 1):
    answer()
answer()
os._exit(0)
"""


class Failure(AssertionError):
    """What did not hold, and the trial that showed it."""


class Trials:
    """Trials on one target, which is checked after each."""

    def __init__(self, target):
        self.target = target
        self.check = unittest.TestCase()

    def assert_goes_on(self):
        assert_goes_on(self.target)

    def longest_pause_s(self):
        return self.target.counts().get("pause_us", 0) / 1e6


def output_of(path, must_exist=False):
    """The profile at PATH: None if it is absent or what was there before."""
    if not os.path.exists(path):
        assert not must_exist, "no output"
        return None
    text = pathlib.Path(path).read_text()
    if text == OLDER:
        assert not must_exist, "the older output was left"
        return None
    profile = json.loads(text)
    assert "wallspy" in profile or profile.get("schema") == "dump/1", "not wallspy's output"
    return profile


def leftovers(folder, *known):
    return sorted(set(os.listdir(folder)) - set(known))


def await_end(process, seconds=ENDS_WITHIN_S):
    """Its exit code.  A hang is reported with where it hangs."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        where = [system_call(process.pid, tid) for tid in threads(process.pid)]
        raise Failure(f"wallspy {process.pid} does not end; its threads are in {where}") from None
