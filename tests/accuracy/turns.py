#!/usr/bin/env python3
"""Compares a thread's time, its CPU time and its time off the CPU with its own clocks, where it
computes and waits in turn.

usage: turns.py WALLSPY nap|mixed|python PROGRAM...

The kernel counts how long the thread ran, the samples say on what.  Of N samples that found it
running each is one of its places with probability p, its share of the CPU time.  The same holds for
the samples that found it off the CPU.  In `NAME | wall` nothing but the samples says how much of
its time it ran: a sampler that comes too late finds it asleep.
"""
import sys

from support.measure import measured, share_of_samples
from support.outcome import end_with
from support.wallspy import record

SECONDS = 9
# At each rate the smallest error in a share that is found: of the time on the CPU, and off it.
CATCHES = {100: (0.17, 0.19), 1000: (0.09, 0.09)}
# At 1000 Hz the thread is often found in thread_time() (docs/sampling.md, "Being in time").
RATES = {"python": [100]}
WALL_CATCHES = {100: 0.13, 1000: 0.06}
# Of a share.  Some 20 us of CPU time at the end of each sleep are told from the wait for a CPU
# before them by the kernel's sums alone.
WAKING = 0.04
WALL = 0.015


def parse_truth(text):
    """{place: [CPU time, time off the CPU]}."""
    truth = {}
    for name, cpu, off_cpu in map(str.split, text.splitlines()):
        sums = truth.setdefault(name, [0, 0])
        sums[0] += float(cpu)
        sums[1] += max(0.0, float(off_cpu))
    return truth


def amounts(line, truth, which, rate):
    """Of each place."""
    total = sum(times[which] for times in truth.values())
    shown_total = line.seconds(lambda names: True)
    for name, times in truth.items():
        yield f"{line.name}: {name}", share_of_samples(
            line.seconds_in(name) / shown_total, times[which] / total, total * rate,
            catches=CATCHES[rate][which], systematic=WAKING)


def wall_amounts(line, truth, rate):
    total = sum(map(sum, truth.values()))
    shown_total = line.seconds(lambda names: True)
    for name, times in truth.items():
        yield f"{line.name}: {name}", share_of_samples(
            line.seconds_in(name) / shown_total, sum(times) / total, SECONDS * rate,
            catches=WALL_CATCHES[rate], systematic=WALL)


def record_once(wallspy, how, program, rate):
    run = record(wallspy, ["-r", str(rate)], [*program, how, str(SECONDS)])
    truth = parse_truth(run.stdout)
    cpu, off_cpu = (run.recording.profile(f"ALL | {which}") for which in ("cpu", "off-cpu"))
    print(f"{how} at {rate} Hz, {run.recording.facts['late_ticks']} ticks late")
    waiting = cpu.seconds(lambda names: names[-1].endswith("[blocked]") or
                          names[-1] == "[waiting for cpu]")
    cpu_s = sum(times[0] for times in truth.values())
    total_s = cpu.seconds(lambda names: True)
    print(f"  ALL | cpu: {total_s:.3f} s, by its own clock {cpu_s:.3f} s; {waiting:.3f} s of it "
          f"are waits")
    assert waiting == 0
    assert abs(total_s - cpu_s) <= 0.03 * cpu_s + 0.01
    wall = run.recording.line("main ")
    return dict([*amounts(cpu, truth, 0, rate), *amounts(off_cpu, truth, 1, rate),
                 *wall_amounts(wall, truth, rate)])


def main(wallspy, how, *program):
    return all([measured(lambda rate=rate: record_once(wallspy, how, program, rate))
                for rate in RATES.get(how, CATCHES)])


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
