#!/usr/bin/env python3
"""Children that are born at known moments: how soon is each sampled by --subprocesses?

usage: births.py WALLSPY
       births.py family       the program: N children one after the other, which overlap

A child is in first_nap() until a moment that it prints, then in second_nap().  Of all children the
one whose change is seen soonest tells how the file's clock and the program's belong together.
"""
import json
import os
import sys
import time

from support.measure import Found, measured
from support.outcome import end_with
from support.wallspy import record

CHILDREN = 30
EVERY_S = 0.05
FIRST_S, SECOND_S = 0.3, 0.3
SOON_S = 0.05
# Of the children these are sampled so soon at least.  That half of them are not is found.
LEAST_SOON, CATCHES = 0.9, 0.5


def first_nap(end):
    while time.monotonic() < end:
        time.sleep(0.002)


def second_nap(end):
    while time.monotonic() < end:
        time.sleep(0.002)


def family():
    pids = []
    for _ in range(CHILDREN):
        born = time.monotonic()
        pid = os.fork()
        if pid == 0:
            change = time.monotonic() + FIRST_S
            first_nap(change)
            second_nap(change + SECOND_S)
            os.write(1, (json.dumps([os.getpid(), born, change]) + "\n").encode())
            os._exit(0)
        pids.append(pid)
        time.sleep(EVERY_S)
    for pid in pids:
        os.waitpid(pid, 0)


def seen(line):
    """When the thread was first seen at all, and when in second_nap(), in the file's time."""
    at, first_seen, changed = 0.0, None, None
    for weight, names, _ in line.samples:
        if names and first_seen is None:
            first_seen = at
        if changed is None and "second_nap" in names:
            changed = at
        at += weight
    return first_seen, changed


def record_once(wallspy):
    run = record(wallspy, ["-s"], [sys.executable, __file__, "family"])
    born = [json.loads(line) for line in run.stdout.splitlines()]
    lines = {pid: [line for line in run.recording.lines
                   if line.name.endswith(f" {pid} main | wall")] for pid, _, _ in born}
    missing = [pid for pid, found in lines.items() if not found]
    times = {pid: seen(found[0]) for pid, found in lines.items() if found}
    origin = max((change - times[pid][1] for pid, _, change in born
                  if pid in times and times[pid][1] is not None), default=0)
    late = sorted(times[pid][0] + origin - at for pid, at, _ in born if pid in times)
    ticks_late = run.recording.facts["late_ticks"]
    print(f"{len(missing)} of {len(born)} children missing, {ticks_late} ticks late")
    print("sampled after (ms):", *(f"{1000 * t:.0f}" for t in late))
    assert len(born) == CHILDREN and not missing
    assert late[-1] <= SOON_S + 0.05 * (1 + ticks_late)
    soon = sum(delay <= SOON_S for delay in late)
    return {"sampled soon": Found(soon, CHILDREN, LEAST_SOON, CATCHES)}


if __name__ == "__main__":
    if sys.argv[1] == "family":
        family()
    else:
        end_with(measured, lambda: record_once(sys.argv[1]))
