#!/usr/bin/env python3
"""A thread that locks its process's memory for milliseconds, in turn with work: by forks out of
much memory, or by mprotect().  A read of that memory waits until the call is over: is the time seen
all the same, and where it is?

usage: locked_memory.py WALLSPY PROGRAM fork|mprotect
"""
import sys

from support.measure import measured, share_of_samples
from support.outcome import end_with
from support.wallspy import record

SECONDS = 8
RATE = 100
CATCHES = 0.1
# Once a second a tick waits for the end of the call, to see whether memory is locked still.
ASKED_ANEW = 0.02


def record_once(wallspy, program, how):
    run = record(wallspy, ["-r", str(RATE)], [program, how, str(SECONDS)])
    line = run.recording.line("main")
    total = line.seconds_in("work_and_lock")
    missed = line.missed({"work_and_lock"})
    unseen = missed / (total + missed)
    print(f"{how}: {unseen:.1%} unseen; left out {run.recording.facts['memory_locked']} samples")
    shown = line.seconds_in("lock_by_" + how) / total
    return {"in the call": share_of_samples(shown, float(run.stdout), RATE * SECONDS,
                                            catches=CATCHES),
            "unseen": share_of_samples(unseen, 0, RATE * SECONDS, systematic=ASKED_ANEW,
                                       catches=CATCHES)}


def main(wallspy, program, how):
    return measured(lambda: record_once(wallspy, program, how))


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
