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


def none_is_missing(wallspy, program):
    run = record(wallspy, ["-r", "100"], [program, str(THREADS), str(LIFE_MS)])
    tids = [int(line) for line in run.stdout.split()]
    there = {t["tid"] for t in run.recording.facts["threads"]}
    missing = sum(tid not in there for tid in tids)
    late = run.recording.facts["late_ticks"]
    print(f"{missing} of {len(tids)} threads missing, {late} ticks late")
    # What lived while a tick was late could not be seen, also where it was late by less than
    # counts.
    return len(tids) == THREADS and missing <= 2 * late


def main(wallspy, program):
    """A CPU that stands still at the end, where no tick is counted as late, hides some: what loses
    threads loses them twice."""
    return none_is_missing(wallspy, program) or none_is_missing(wallspy, program)


if __name__ == "__main__":
    end_with(unless_others, lambda: main(*sys.argv[1:]))
