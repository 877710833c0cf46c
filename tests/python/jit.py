"""What CPython's own JIT compiler (3.14 and later, PYTHON_JIT=1) makes is unwound, and hidden
beside the Python frames that it runs.  Runs wallspy on itself.

usage: jit.py WALLSPY (without it: the target)"""

import functools
import re
import sys
import time

from support.outcome import Skipped, end_with
from support.wallspy import record_folded

SECONDS = 1


def leaf(n):
    total = 0
    for i in range(n):
        total += i * 3 % 7
    return total


class Point:
    def __init__(self, x):
        self.x = x


def points(n):
    total = 0
    for i in range(n):
        total += Point(i).x
    return total


def generated(n):
    for i in range(n):
        yield leaf(i % 5)


def by_reduce(n):
    return functools.reduce(lambda a, b: a + leaf(b), range(n))


def by_sort(n):
    return sorted(range(n), key=lambda v: -leaf(v % 9))


def main():
    end = time.process_time() + SECONDS
    while time.process_time() < end:
        leaf(2000), points(1500), sum(generated(300)), by_reduce(300), by_sort(200)


def stacks(wallspy, *options):
    """[(frames, µs)] of the main thread in main(), outermost frame first, but where it had no CPU:
    a quarter of a second's wait for one, at a line that was met once, says nothing of how much code
    is known."""
    found, _ = record_folded(wallspy, ["-q", "-r", "1000", *options],
                             ["--", sys.executable, __file__], environment={"PYTHON_JIT": "1"})
    return [(stack, us) for stack, us in found
            if "main" in stack and stack[-1] != "[waiting for cpu]"]


def share(pairs, pattern):
    """Of the time, that in which a frame's name matches PATTERN."""
    total = sum(us for _, us in pairs)
    return sum(us for stack, us in pairs if any(re.search(pattern, name) for name in stack)) / total


def check(wallspy):
    if not (hasattr(sys, "_jit") and sys._jit.is_available()):
        raise Skipped("this CPython has no JIT compiler")
    shown, internals = stacks(wallspy), stacks(wallspy, "--internals")
    named, beside = share(internals, "^py::jit"), share(shown, "^py::jit|^0x")
    doubtful = share(shown, "missing]|^.truncated]")
    print(f"{named:.1%} in compiled code, {beside:.1%} shown as such, {doubtful:.1%} in doubt")
    # 3.15 announces an executor when it is made, and is read a little later.
    assert named > 0.2 and beside < 0.06 and doubtful < 0.06


if __name__ == "__main__":
    end_with(check, sys.argv[1]) if len(sys.argv) > 1 else main()
