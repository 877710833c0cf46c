#!/usr/bin/env python3
"""Compares `ALL | cpu` and `ALL | off-cpu` with a thread's own clocks, where it computes and waits
in turn.

usage: turns.py WALLSPY TURNS nap|mixed

The kernel counts how long the thread ran, the samples say on what.  Of N samples that found it
running each is one of its places with probability p, its share of the CPU time: the shown share is
within three of its standard deviations, sqrt(p (1 - p) / N).  The same holds for the samples that
found it off the CPU.
"""
import math
import sys

from support.outcome import end_with
from support.wallspy import record

SECONDS = 8
RATES = (100, 1000)
# Of a share.  Some 20 us of CPU time at the end of each sleep are told from the wait for a CPU
# before them by the kernel's sums alone.
WAKING = 0.04


def parse_truth(text):
    """{place: [CPU time, time off the CPU]}."""
    truth = {}
    for name, cpu, off_cpu in map(str.split, text.splitlines()):
        sums = truth.setdefault(name, [0, 0])
        sums[0] += float(cpu)
        sums[1] += max(0.0, float(off_cpu))
    return truth


def check_shares(line, truth, which, rate):
    """Prints a line for each place; returns how many were wrong."""
    total = sum(times[which] for times in truth.values())
    shown_total = line.seconds(lambda names: True)
    n = total * rate
    wrong = 0
    for name, times in truth.items():
        true, shown = times[which] / total, line.seconds_in(name) / shown_total
        allowed = 3 * math.sqrt(max(true * (1 - true), 1 / n) / n) + WAKING
        ok = abs(shown - true) <= allowed
        wrong += not ok
        print(f"  {line.name:14} {name:14} shown {shown:6.1%}  true {true:6.1%}  allowed ± "
              f"{allowed:.1%}"
              f"{'' if ok else '  WRONG'}")
    return wrong


def check(wallspy, program, how, rate):
    run = record(wallspy, ["-r", str(rate)], [program, how, str(SECONDS)])
    truth = parse_truth(run.stdout)
    cpu, off_cpu = (run.recording.profile(f"ALL | {which}") for which in ("cpu", "off-cpu"))
    print(f"{how} at {rate} Hz, {run.recording.facts['late_ticks']} ticks late")
    waiting = cpu.seconds(lambda names: names[-1].endswith("[blocked]") or
                          names[-1] == "[waiting for cpu]")
    cpu_s = sum(times[0] for times in truth.values())
    total_s = cpu.seconds(lambda names: True)
    print(f"  ALL | cpu: {total_s:.3f} s, by its own clock {cpu_s:.3f} s; {waiting:.3f} s of it "
          f"are waits")
    wrong = waiting > 0 or abs(total_s - cpu_s) > 0.03 * cpu_s + 0.01
    return wrong + check_shares(cpu, truth, 0, rate) + check_shares(off_cpu, truth, 1, rate)


def main(wallspy, program, how):
    return sum([check(wallspy, program, how, rate) for rate in RATES]) == 0


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
