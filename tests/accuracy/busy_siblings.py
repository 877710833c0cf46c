#!/usr/bin/env python3
"""A thread that computes and sleeps in turn, alone and among many that wake up all the time: what
is found out of it must be of one moment, however many are looked at before it is asked to stop.

usage: busy_siblings.py WALLSPY PROGRAM
"""
import math
import sys

from support.outcome import end_with
from support.wallspy import record

SECONDS = 5
RATE = 100
# of the time: wakes, waits for a CPU, or fell asleep between the look and the request
RUNNING_ASLEEP = 0.1


def share(wallspy, program, others):
    """Whether the time that the thread was seen asleep is the truth's, and what was found."""
    run = record(wallspy, ["-r", str(RATE)], [program, str(others), str(SECONDS)])
    line = run.recording.line("main")
    total = line.seconds_in("work_and_nap")
    seen = line.seconds_in("nap") / total
    running = line.seconds(lambda names: "nap" in names and "[blocked]" not in names[-1]) / total
    truth = float(run.stdout)
    late = run.recording.facts["late_ticks"] / (RATE * SECONDS)
    most = 3 * math.sqrt(truth * (1 - truth) / (RATE * SECONDS)) + late
    print(f"among {others}: asleep {seen:.1%}, truly {truth:.1%} (± {most:.1%}); said to run "
          f"meanwhile {running:.1%}")
    return abs(seen - truth) < most and running < RUNNING_ASLEEP + late


def main(wallspy, program):
    return all([share(wallspy, program, others) for others in (0, 70, 150)])


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
