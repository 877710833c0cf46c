#!/usr/bin/env python3
"""Waiting for a CPU, where it is easily taken for something else: after a sleep, and while a CPU
quota is used up.

usage: waits_for_cpu.py WALLSPY woken|quota RATE

Exits 77 where no cgroup with a CPU quota can be made.
"""
import os
import sys

from support.cpu import SPIN, quota_group, running, spinners
from support.outcome import end_with
from support.targets import python_target
from support.wallspy import record_process

SECONDS = 6
# Its stacks need no registers: a stop for those wakes the sleeper.
SLEEP = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.05)"
# of the wall time: a stretch of waiting is told to within a tick at both of its ends
WAIT_WITHIN = 0.08
MISSED_LESS_THAN = 0.05
LEAST_WAIT = 0.05  # else there was nothing to see


def recorded(wallspy, pid, rate, seconds):
    """The recording, and what was said."""
    run = record_process(wallspy, ["-r", rate, "-d", seconds], pid)
    return run.recording, run.stderr


def check(recording, text):
    """The time line's waits are the kernel's, and little of it is unknown."""
    line = recording.line("main")
    facts = next(t for t in recording.facts["threads"] if t["main"])
    wall = sum(weight for weight, _, _ in line.samples)
    shown = line.seconds(lambda names: names[-1:] == ["[waiting for cpu]"]) / wall
    missed = line.seconds(lambda names: not names) / wall
    counted = facts["wait_cpu_ns"] / 1e9 / wall
    print(f"{text}\n[waiting for cpu] {shown:.1%}, by schedstat {counted:.1%}; missed {missed:.1%}")
    return abs(shown - counted) <= min(WAIT_WITHIN, counted / 2) and missed <= MISSED_LESS_THAN


def check_woken(wallspy, rate):
    """A nice sleeper on the CPU of four spinners: while it is woken but does not run it has the run
    count of its sleep."""
    cpus = os.sched_getaffinity(0)
    with python_target(SLEEP) as sleeper:
        os.setpriority(os.PRIO_PROCESS, sleeper.pid, 19)
        os.sched_setaffinity(sleeper.pid, [min(cpus)])
        with spinners(4, ["taskset", "-c", str(min(cpus))]):
            recording, text = recorded(wallspy, sleeper.pid, rate, SECONDS)
    facts = next(t for t in recording.facts["threads"] if t["main"])
    return check(recording, text) and facts["wait_cpu_ns"] > LEAST_WAIT * 1e9 * SECONDS


def check_quota(wallspy, rate):
    """Its stops stay pending for most of a second, also the last one, at the end of the
    recording."""
    with quota_group(50000, 1000000) as group, running(SPIN) as spinner:
        (group / "cgroup.procs").write_text(str(spinner.pid))
        return all([check(*recorded(wallspy, spinner.pid, rate, 2.7)) for _ in range(3)])


if __name__ == "__main__":
    checks = {"woken": check_woken, "quota": check_quota}
    end_with(checks[sys.argv[2]], sys.argv[1], int(sys.argv[3]))
