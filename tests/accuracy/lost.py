#!/usr/bin/env python3
"""What a target loses to wallspy, where wallspy itself gets no CPU.

usage: lost.py WALLSPY RATE

Exits 77 where there is one CPU only, or no real-time priority is available.
"""
import os
import sys
import time

from support.chance import seeded
from support.cpu import SPIN, running
from support.measure import unless_others
from support.outcome import Skipped, end_with
from support.processes import schedstat, status, wait_until
from support.programs import programs
from support.wallspy import Wallspy, call

SECONDS = 4
LEAST_LOST_S = 0.03
# Runs before wallspy on wallspy's CPU. Mere load is no test: it takes the CPU from a wallspy that
# holds a thread now and then, and on some machines never.
STARVE = """
import ctypes, os, random, signal, sys, time
pid, chance = int(sys.argv[1]), random.Random(int(sys.argv[2]))
ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: short sleeps
while True:
    time.sleep(chance.uniform(0, 1e-4))
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.002)
    os.kill(pid, signal.SIGCONT)
"""


def need_priority():
    if call(["chrt", "-f", "10", "true"]).code != 0:
        raise Skipped("no real-time priority is available here")


def lost_starved(rate):
    """What a spinner loses at least and at most, and the held share times its time.  A spinner
    never blocks: what it neither ran nor waited for a CPU it was held by wallspy, which is stopped
    again and again for 2 ms, within its holds, too.  Or a hypervisor had one of the machine's CPUs:
    which one is unknown."""
    cpus = sorted(os.sched_getaffinity(0))
    beside = ["taskset", "-c", str(cpus[0])]
    starve = ["chrt", "-f", "10", *beside, sys.executable, "-c", STARVE]
    seed = str(seeded().randrange(1 << 32))
    with running(["taskset", "-c", str(cpus[1]), *SPIN]) as spinner:
        wait_until(lambda: status(spinner.pid, "Name") == SPIN[0], what="taskset does not end")
        before, begun = schedstat(spinner.pid), time.monotonic()
        with Wallspy(spinner.pid, "-d", SECONDS, rate=rate, prefix=beside,
                     ready=False) as wallspy, \
                running([*starve, str(wallspy.process.pid), seed]):
            facts = wallspy.ends(120).facts
            told = wallspy.text()
        after, wall = schedstat(spinner.pid), time.monotonic() - begun
    thread = facts["threads"][0]
    said = facts["held_share"] * (thread["end_ns"] - thread["start_ns"]) / 1e9
    its_own = after.run_s - before.run_s + after.wait_s - before.wait_s
    most = wall - its_own
    least = most - facts.get("stolen_s", 0)
    print(f"{told}\nlost {least:.3f} to {most:.3f} s of {wall:.1f}, by the line {said:.3f} s")
    return least, most, said


def check_starved(rate):
    """Of as many recordings as it takes to lose what can be measured."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Skipped("one CPU only")
    need_priority()
    least = most = said = 0
    for _ in range(5):
        more = lost_starved(rate)
        least, most, said = least + more[0], most + more[1], said + more[2]
        if least > LEAST_LOST_S:
            return 0.5 * least - 0.01 <= said <= 1.3 * most + 0.02
    return False


if __name__ == "__main__":
    programs["wallspy"] = sys.argv[1]
    end_with(unless_others, lambda: check_starved(int(sys.argv[2])))
