#!/usr/bin/env python3
"""A thread that computes and sleeps in turn, alone and among many that wake up all the time: what
is found out of it must be of one moment, however many are looked at before it is asked to stop.

usage: busy_siblings.py WALLSPY PROGRAM
"""
import sys

from support.measure import measured, share_of_samples
from support.outcome import end_with
from support.wallspy import record

SECONDS = 9
RATE = 100
CATCHES = 0.1
# of the time: wakes, waits for a CPU, or fell asleep between the look and the request
RUNNING_ASLEEP = 0.1


def record_once(wallspy, program, others):
    run = record(wallspy, ["-r", str(RATE)], [program, str(others), str(SECONDS)])
    line = run.recording.line("main")
    total = line.seconds_in("work_and_nap")
    seen = line.seconds_in("nap") / total
    running = line.seconds(lambda names: "nap" in names and "[blocked]" not in names[-1]) / total
    late = run.recording.facts["late_ticks"] / (RATE * SECONDS)
    print(f"among {others}: {late:.1%} of the ticks late")
    # Late ones may be of other moments; that some of the sleep is said to run is no fault.
    return {"asleep": share_of_samples(seen, float(run.stdout), RATE * SECONDS, unknown=late,
                                       catches=CATCHES),
            "said to run meanwhile": share_of_samples(max(0, running - RUNNING_ASLEEP - late), 0,
                                                      RATE * SECONDS, catches=CATCHES)}


def main(wallspy, program):
    return all([measured(lambda n=n: record_once(wallspy, program, n)) for n in (0, 70, 150)])


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
