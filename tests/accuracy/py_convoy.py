#!/usr/bin/env python3
"""Three threads have a Lock of Python's one after the other, and main waits behind all of them.
The holder of such a lock is searched for in a part of the ticks: is no holder given more of main's
wait than it has by its own clock, and is who has it known for a good part?

usage: py_convoy.py RECORDER PROGRAM...

PROGRAM: PYTHON stand_in_line.py.

RECORDER: tests/situations/record_fixture.c, which writes what was recorded as fields.
"""
import pathlib
import sys
import tempfile

from convoy import shown_of, truth_of
from support.measure import EVEN, LATE, SIGMAS
from support.outcome import end_with
from support.wallspy import FULL_RATE, succeed

SECONDS, RATE = 12, 100
KNOWN_LEAST = 0.3  # of the wait


def main(recorder, *program):
    with tempfile.TemporaryDirectory() as folder:
        fixture = pathlib.Path(folder, "fixture.gz")
        ran = succeed([recorder, "-q", *FULL_RATE, "-r", RATE, "-o", "none", "--", *program,
                       SECONDS], environment={"WALLSPY_FIXTURE": str(fixture)}, timeout=60)
        waiter, true, total, n = truth_of(ran.stdout)
        shown, facts = shown_of(fixture, waiter, ("py-lock",))
    unknown = shown.pop(0, 0)
    interval = 1 / facts["rate_hz"]
    change = EVEN + min(1, facts.get("late_ticks", 0) * interval / total) * (LATE - EVEN)
    chance = SIGMAS * (2 * n * change) ** 0.5 * interval
    print(f"{n} waits, {total:.3f} s, {unknown:.3f} s of it for nobody")
    for tid, seconds in true.items():
        print(f"  {tid}: {shown[tid]:.3f} s, true {seconds:.3f} s, chance {chance:.3f} s")
        assert shown[tid] <= seconds + chance, f"{tid} has more than its own clock"
    others = sum(seconds for tid, seconds in shown.items() if tid not in true)
    assert not others, f"{others:.3f} s for threads that never had it: {shown}"
    known = sum(shown.values()) / total
    assert known >= KNOWN_LEAST, f"who has it is known for {known:.0%} of the wait"


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
