#!/usr/bin/env python3
"""What a target loses to wallspy, where wallspy itself gets no CPU; and the priority that wallspy was given.

usage: lost.py WALLSPY quota|priority

Exits 77 where no cgroup with a CPU quota can be made, or no real-time priority be had.
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


def schedstat(pid):
    """Seconds on a CPU and waiting for one, and the clock."""
    run, wait, _ = map(int, pathlib.Path(f"/proc/{pid}/schedstat").read_text().split())
    return run / 1e9, wait / 1e9, time.monotonic()


def check_quota(wallspy):
    """A spinner never blocks: what it neither ran nor waited for a CPU it was held by wallspy."""
    with waits_for_cpu.quota_group("2000", "100000") as group, tempfile.TemporaryDirectory() as folder, \
            waits_for_cpu.running(waits_for_cpu.SPIN) as spinner:
        output = pathlib.Path(folder, "out.json")
        command = [wallspy, *recorded.OPTIONS, "-r", "1000", "-p", str(spinner.pid), "-d", str(SECONDS), "-o", output]
        before = schedstat(spinner.pid)
        done = subprocess.run(["sh", "-c", 'echo $$ >"$0"/cgroup.procs; exec "$@"', group, *command], check=False,
                              capture_output=True, text=True, timeout=120)
        run, wait, wall = (b - a for a, b in zip(before, schedstat(spinner.pid)))
        assert done.returncode == 0, done.stderr
        facts = json.loads(output.read_text())["wallspy"]
    thread = facts["threads"][0]
    said = facts["held_share"] * (thread["end_ns"] - thread["start_ns"]) / 1e9
    lost = wall - run - wait - facts.get("stolen_s", 0)
    print(f"{done.stderr}\nlost {lost:.3f} s of {wall:.1f}, by the line {said:.3f} s")
    return lost > 0.1 and 0.6 * lost - 0.03 <= said <= 1.3 * lost + 0.05


def check_priority(wallspy):
    """The sampler's thread keeps SCHED_FIFO."""
    with waits_for_cpu.running(waits_for_cpu.SPIN) as spinner, tempfile.TemporaryDirectory() as folder:
        line = ["chrt", "-f", "20", wallspy, "-p", str(spinner.pid), "-o", os.path.join(folder, "out.json")]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
            first = process.stderr.readline()
            if "failed to set" in first:
                print("no real-time priority is to be had here")
                sys.exit(77)
            time.sleep(0.5)  # until the sampler's thread has its name
            found = {task.joinpath("comm").read_text().strip(): os.sched_getscheduler(int(task.name))
                     for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()}
            process.terminate()
            process.communicate()
    print(first, found)
    return found["wallspy-sampler"] == SCHED_FIFO


if __name__ == "__main__":
    checks = {"quota": check_quota, "priority": check_priority}
    sys.exit(0 if checks[sys.argv[2]](sys.argv[1]) else 1)
