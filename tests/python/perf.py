"""CPython's perf trampolines (-X perf, 3.12 and later) are named by the map that it writes, and
hidden beside the Python frames that they run.  Runs wallspy on itself.

usage: perf.py WALLSPY (without it: the target)"""

import os
import sys
import sysconfig
import time

from support.outcome import Skipped, end_with
from support.wallspy import record_folded


def inner(levels):
    if levels:
        return max([levels - 1], key=inner)
    end = time.perf_counter() + 2  # the first samples may come before its map is written
    while time.perf_counter() < end:
        pass
    return 0


def outer():
    return inner(3)


def stacks(*options):
    """Of the main thread, outermost frame first, with their counts."""
    return record_folded(sys.argv[1], ["-q", "-r", "200", *options],
                         ["--", sys.executable, "-X", "perf", __file__])[0]


def main():
    if not sysconfig.get_config_var("PY_HAVE_PERF_TRAMPOLINE"):
        raise Skipped("this CPython has no perf trampolines")
    shown = [(stack, weight) for stack, weight in stacks() if "outer" in stack]
    assert shown
    for stack, _ in shown:
        assert not any(frame.startswith("py::") for frame in stack), stack
        assert "[native frames missing]" not in stack, stack
    total = good = 0
    for stack, weight in stacks("--internals"):
        if "outer" not in stack:
            continue
        expected = [f"py::inner:{__file__}"] * 4
        total += weight
        good += weight * ([name for name in stack if name.startswith("py::inner:")] == expected
                          and stack.index(f"py::outer:{__file__}") < stack.index("outer"))
    print(f"{good / total:.1%} with all four trampolines")
    assert good > 0.9 * total  # it enters and leaves them in the rest


if __name__ == "__main__":
    if len(sys.argv) > 1:
        end_with(main)
    else:
        outer()
        os.unlink(f"/tmp/perf-{os.getpid()}.map")
