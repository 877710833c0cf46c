#!/usr/bin/env python3
"""Threads that follow each other, always as many: is each there that lived for more than two
intervals?

usage: short_lived_threads.py WALLSPY PROGRAM
"""
import sys

from support.measure import unless_others
from support.outcome import end_with
from support.wallspy import record

THREADS = 160
LIFE_MS = 25  # at 100 Hz: a whole interval lies within, and 5 ms
# A list of /proc/PID/task ends early where the thread that it has come to ends in that moment
# (next_tid() in the kernel's fs/proc/base.c): one of all may be missed.  A loss of 1 % is caught.
MAY_MISS = 1


def count(wallspy, program):
    """How many threads there were, how many of them are missing, and how many ticks came late."""
    run = record(wallspy, ["-r", "100"], [program, str(THREADS), str(LIFE_MS)])
    tids = [int(line) for line in run.stdout.split()]
    there = {t["tid"] for t in run.recording.facts["threads"]}
    missing, late = sum(tid not in there for tid in tids), run.recording.facts["late_ticks"]
    print(f"{missing} of {len(tids)} threads missing, {late} ticks late")
    return len(tids), missing, late


def main(wallspy, program):
    # What lived while a tick was late could not be seen.
    first = count(wallspy, program)
    if first[1] <= 2 * first[2]:
        return first[0] == THREADS
    both = [sum(pair) for pair in zip(first, count(wallspy, program))]
    return both[0] == 2 * THREADS and both[1] <= 2 * both[2] + MAY_MISS


if __name__ == "__main__":
    end_with(unless_others, lambda: main(*sys.argv[1:]))
