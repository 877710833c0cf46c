#!/usr/bin/env python3
"""Waiting for a CPU, where it is easily taken for something else: after a sleep, and while a CPU
quota is used up.

usage: waits_for_cpu.py WALLSPY woken|quota RATE

Exits 77 where no cgroup with a CPU quota can be made.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

import recorded

SECONDS = 6
# Its stacks need no registers: a stop for those wakes the sleeper.
SLEEP = [sys.executable,
         "-c", "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.05)"]
SPIN = ["sh", "-c", "while :; do :; done"]
# of the wall time: a stretch of waiting is told to within a tick at both of its ends
WAIT_WITHIN = 0.08
MISSED_LESS_THAN = 0.05


@contextlib.contextmanager
def running(command):
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def quota_group(quota_us, period_us):
    """A cgroup that may run for QUOTA_US in each PERIOD_US, by either version of cgroups."""
    name = f"wallspy-truth-{os.getpid()}"
    for top, texts in (("/sys/fs/cgroup/cpu",
                        {"cpu.cfs_period_us": period_us, "cpu.cfs_quota_us": quota_us}),
                       ("/sys/fs/cgroup", {"cpu.max": f"{quota_us} {period_us}"})):
        group = pathlib.Path(top, name)
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for file, text in texts.items():
                (group / file).write_text(text)
        except OSError:
            group.rmdir()
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    print("no cgroup with a CPU quota can be made here")
    sys.exit(77)


def record(wallspy, pid, rate, seconds):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.json")
        done = subprocess.run([wallspy, *recorded.OPTIONS, "-r", str(rate), "-p", str(pid),
                               "-d", str(seconds), "-o", output],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return recorded.Recording(output), done.stderr


def check(recording, text):
    """The time line's waits are the kernel's, and little of it is unknown."""
    line = recording.line("main")
    facts = next(t for t in recording.facts["threads"] if t["main"])
    wall = sum(weight for weight, _, _ in line.samples)
    shown = line.seconds(lambda names: names[-1:] == ["[waiting for cpu]"]) / wall
    missed = line.seconds(lambda names: not names) / wall
    counted = facts["wait_cpu_ns"] / 1e9 / wall
    print(f"{text}\n[waiting for cpu] {shown:.1%}, by schedstat {counted:.1%}; missed {missed:.1%}")
    return abs(shown - counted) <= WAIT_WITHIN and missed <= MISSED_LESS_THAN


def check_woken(wallspy, rate):
    """A nice sleeper on the CPU of two spinners: while it is woken but does not run it has the run
    count of its sleep."""
    cpus = os.sched_getaffinity(0)
    with subprocess.Popen(SLEEP, stdout=subprocess.PIPE) as sleeper:
        sleeper.stdout.readline()
        os.setpriority(os.PRIO_PROCESS, sleeper.pid, 19)
        os.sched_setaffinity(sleeper.pid, [min(cpus)])
        spin = ["taskset", "-c", str(min(cpus)), *SPIN]
        with running(spin), running(spin):
            recording, text = record(wallspy, sleeper.pid, rate, SECONDS)
        sleeper.kill()
    facts = next(t for t in recording.facts["threads"] if t["main"])
    return check(recording, text) and facts["wait_cpu_ns"] > 0.05e9 * SECONDS


def check_quota(wallspy, rate):
    """Its stops stay pending for most of a second, also the last one, at the end of the
    recording."""
    with quota_group("50000", "1000000") as group, running(SPIN) as spinner:
        (group / "cgroup.procs").write_text(str(spinner.pid))
        return all([check(*record(wallspy, spinner.pid, rate, 2.7)) for _ in range(3)])


if __name__ == "__main__":
    checks = {"woken": check_woken, "quota": check_quota}
    sys.exit(0 if checks[sys.argv[2]](sys.argv[1], int(sys.argv[3])) else 1)
