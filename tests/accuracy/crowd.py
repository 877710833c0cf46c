#!/usr/bin/env python3
"""Threads that have no CPU to themselves: where they run and where they wait for a CPU, against
their own clocks.

usage: crowd.py WALLSPY CROWD plain|call|yield CPUS THREADS

Whoever runs is asked to stop; of those that wait only some are, by chance, and the others have
their stacks.  So the share of the waits has the sampling error of those that were asked.
"""
import os
import sys

from support.measure import measured, require_seen, share_of_samples
from support.outcome import end_with
from support.wallspy import record

SECONDS, RATE = 10, 100
# Of the CPU time, and of the waits for a CPU: the smallest error in a share that is found.
CATCHES_CPU, CATCHES_WAIT = 0.15, 0.30
# The waits that were asked differ in length, and in how many others have their stacks.
UNEVEN = 3
UNKNOWN_AT_MOST = 0.05  # of the waits, after each thread's first
SEEN_AT_LEAST = 0.97


def parse_truth(text):
    """{place: (CPU time, time in which it waited for a CPU)}."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: (float(row[1]), float(row[2])) for row in rows if len(row) == 3}


def share(times, of):
    return times[of] / sum(times.values())


def record_once(wallspy, program, how, cpus, threads):
    run = record(wallspy, ["-r", RATE], [program, how, threads, SECONDS])
    recording, facts, truth = run.recording, run.recording.facts, parse_truth(run.stdout)
    waiting = {name: 0 for name in truth}
    for rows in recording.walls().values():
        for stack, seconds in rows:
            for name in truth:
                if name in stack and stack[-1] == "[waiting for cpu]":
                    waiting[name] += seconds
    cpu = recording.profile("ALL | cpu")
    running = {name: cpu.seconds_in(name) for name in truth}
    asked, unasked = facts["waits_asked"], facts["waits_unasked"]
    ticks = facts["ticks"]
    print(f"{how}, {threads} threads on {cpus} CPUs: {facts['rate_hz']:.0f} Hz, "
          f"{facts['seen_share']:.1%} seen, {asked} waits asked, {unasked} not, "
          f"{facts['waits_unknown']} unknown, {facts['stops']} stops")
    assert facts["waits_unknown"] <= UNKNOWN_AT_MOST * (asked + unasked) + int(threads)
    require_seen(facts["seen_share"] >= SEEN_AT_LEAST, f"{facts['seen_share']:.1%} seen")
    amounts = {"runs in first": share_of_samples(
        share(running, "first"), share({n: t[0] for n, t in truth.items()}, "first"), ticks,
        catches=CATCHES_CPU)}
    if int(threads) > cpus:  # else there are hardly any waits
        amounts["waits in first"] = share_of_samples(
            share(waiting, "first"), share({n: t[1] for n, t in truth.items()}, "first"),
            asked / UNEVEN, catches=CATCHES_WAIT)
    return amounts


def main(wallspy, program, how, cpus, threads):
    here = sorted(os.sched_getaffinity(0))[:int(cpus)]
    os.sched_setaffinity(0, here)  # wallspy has no other, either
    return measured(lambda: record_once(wallspy, program, how, len(here), threads))


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
