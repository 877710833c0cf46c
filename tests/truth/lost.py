#!/usr/bin/env python3
"""What a target loses to wallspy, where wallspy itself gets no CPU; and the priority that wallspy
was given.

usage: lost.py WALLSPY starved|priority RATE

Exits 77 where there is one CPU only, or no real-time priority is to be had.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import recorded
import waits_for_cpu

SECONDS = 4
SCHED_FIFO = 1
NO_PRIORITY = "no real-time priority is to be had here"
# Runs before wallspy on wallspy's CPU. Mere load is no test: it takes the CPU from a wallspy that
# holds a thread now and then, and on some machines never.
STARVE = """
import ctypes, os, random, signal, sys, time
ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: short sleeps
while True:
    time.sleep(random.uniform(0, 1e-4))
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(0.002)
    os.kill(int(sys.argv[1]), signal.SIGCONT)
"""


def schedstat(pid):
    """Seconds on a CPU and waiting for one, and the clock."""
    run, wait, _ = map(int, pathlib.Path(f"/proc/{pid}/schedstat").read_text().split())
    return run / 1e9, wait / 1e9, time.monotonic()


def check_starved(wallspy, rate):
    """A spinner never blocks: what it neither ran nor waited for a CPU it was held by wallspy,
    which is stopped again and again for 2 ms, within its holds, too."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("one CPU only")
        sys.exit(77)
    beside = ["taskset", "-c", str(cpus[0])]
    first = ["chrt", "-f", "10"]
    if subprocess.run([*first, "true"], check=False, capture_output=True).returncode != 0:
        print(NO_PRIORITY)
        sys.exit(77)
    free = ["taskset", "-c", str(cpus[1]), *waits_for_cpu.SPIN]
    with waits_for_cpu.running(free) as spinner, tempfile.TemporaryDirectory() as folder:
        time.sleep(0.2)  # until taskset has become it
        output = pathlib.Path(folder, "out.json")
        command = [wallspy, *recorded.OPTIONS, "-r", str(rate), "-p", str(spinner.pid),
                   "-d", str(SECONDS), "-o", output]
        before = schedstat(spinner.pid)
        with subprocess.Popen([*beside, *command], stderr=subprocess.PIPE, text=True) as process, \
                waits_for_cpu.running([*first, *beside, sys.executable, "-c", STARVE,
                                       str(process.pid)]):
            _, told = process.communicate(timeout=120)
        run, wait, wall = (b - a for a, b in zip(before, schedstat(spinner.pid)))
        assert process.returncode == 0, told
        facts = json.loads(output.read_text())["wallspy"]
    thread = facts["threads"][0]
    said = facts["held_share"] * (thread["end_ns"] - thread["start_ns"]) / 1e9
    lost = wall - run - wait - facts.get("stolen_s", 0)
    print(f"{told}\nlost {lost:.3f} s of {wall:.1f}, by the line {said:.3f} s")
    return lost > 0.03 and 0.5 * lost - 0.01 <= said <= 1.3 * lost + 0.02


def check_priority(wallspy, rate):
    """The sampler's thread keeps SCHED_FIFO."""
    with waits_for_cpu.running(
        waits_for_cpu.SPIN) as spinner, tempfile.TemporaryDirectory() as folder:
        line = ["chrt", "-f", "20", wallspy, "-r", str(rate), "-p", str(spinner.pid),
                "-o", os.path.join(folder, "out.json")]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
            first = process.stderr.readline()
            if "failed to set" in first:
                print(NO_PRIORITY)
                sys.exit(77)
            time.sleep(0.5)  # until the sampler's thread has its name
            found = {
                task.joinpath("comm").read_text().strip(): os.sched_getscheduler(int(task.name))
                for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()}
            process.terminate()
            process.communicate()
    print(first, found)
    return found["wallspy-sampler"] == SCHED_FIFO


if __name__ == "__main__":
    checks = {"starved": check_starved, "priority": check_priority}
    sys.exit(0 if checks[sys.argv[2]](sys.argv[1], int(sys.argv[3])) else 1)
