#!/usr/bin/env python3
"""Waiting for a CPU, where it is easily taken for something else: after a sleep, and while a CPU
quota is used up.

usage: waits_for_cpu.py WALLSPY woken|quota RATE

Exits 77 where no cgroup with a CPU quota can be made.
"""
import os
import sys

from support.cpu import SPIN, quota_group, running, spinners
from support.measure import measured, require_seen, time_of_visits
from support.outcome import end_with
from support.targets import python_target
from support.wallspy import record_process

SECONDS = 6
# Its stacks need no registers: a stop for those wakes the sleeper.
SLEEP = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.05)"
# of the wall time
CATCHES, SYSTEMATIC = 0.08, 0.01
MISSED_LESS_THAN = 0.05
LEAST_WAIT = 0.05  # else there was nothing to see


def waits(wallspy, pid, rate, seconds):
    """The Amount of the time line's waits, by the kernel's count.  Little of it is unknown."""
    recording, _, text = record_process(wallspy, ["-r", rate, "-d", seconds], pid)
    line = recording.line("main")
    facts = next(t for t in recording.facts["threads"] if t["main"])
    wall = sum(weight for weight, _, _ in line.samples)
    shown = line.seconds(lambda names: names[-1:] == ["[waiting for cpu]"])
    missed = line.seconds(lambda names: not names)
    counted = facts["wait_cpu_ns"] / 1e9
    print(f"{text}\nmissed {missed / wall:.1%}")
    assert counted > LEAST_WAIT * wall, "hardly a wait"
    require_seen(missed <= MISSED_LESS_THAN * wall, f"{missed / wall:.1%} missed")
    switches = (facts["voluntary_switches"] + facts["involuntary_switches"]
                - facts["own_switches"])
    return time_of_visits(shown, counted, wall, switches, recording, systematic=SYSTEMATIC,
                          catches=min(CATCHES, counted / wall / 2))


def woken(wallspy, rate):
    """A nice sleeper on the CPU of four spinners: while it is woken but does not run it has the run
    count of its sleep."""
    cpus = os.sched_getaffinity(0)
    with python_target(SLEEP) as sleeper:
        os.setpriority(os.PRIO_PROCESS, sleeper.pid, 19)
        os.sched_setaffinity(sleeper.pid, [min(cpus)])
        with spinners(4, ["taskset", "-c", str(min(cpus))]):
            return {"woken": waits(wallspy, sleeper.pid, rate, SECONDS)}


def quota(wallspy, rate):
    """Its stops stay pending for most of a second, also the last one, at the end of the
    recording."""
    with quota_group(50000, 1000000) as group, running(SPIN) as spinner:
        (group / "cgroup.procs").write_text(str(spinner.pid))
        return {f"recording {i}": waits(wallspy, spinner.pid, rate, 2.7) for i in range(3)}


if __name__ == "__main__":
    how = {"woken": woken, "quota": quota}[sys.argv[2]]
    end_with(measured, lambda: how(sys.argv[1], int(sys.argv[3])))
