#!/usr/bin/env python3
"""What a recording says of the kernel's own accounts of a program: its CPU quota, its CPUs, its
page faults and switches, its children, who else runs.

usage: evidence.py WALLSPY quota|hidden|others|children|storms|counters PROGRAM

Exits 77 where no cgroup with a CPU quota can be made.

The kernel's counts have no chance in them: an error of what a recording may be off by is the
smallest that is found.  What is told by samples has one of its own.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from support.cpu import SPIN, quota_group, running
from support.measure import Amount, measured, share_of_samples, unless_others
from support.outcome import Skipped, end_with
from support.processes import schedstat
from support.wallspy import record_attached, record_process

RATE = 100
SECONDS = 3
CPUS = sorted(os.sched_getaffinity(0))


def throttled(group):
    """Seconds for which GROUP has been throttled so far."""
    numbers = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(numbers.get("throttled_usec", 0)) / 1e6 + int(numbers.get("throttled_time", 0)) / 1e9


def children_of(pid):
    """{pid: name} of the processes whose parent is PID."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, rest = stat.read_text().split(" (", 1)[1].rsplit(") ", 1)
            if int(rest.split()[1]) == pid:
                found[int(stat.parent.name)] = name
    return found


def close(what, said, true, within):
    """{WHAT: its Amount}; what is said may be off by WITHIN, without chance."""
    total = max(true, within)
    share = within / total
    print(f"{what}: {said:.3f} said, {true:.3f} true")
    return {what: Amount(said, true, total, variance=0, catches=share, systematic=share)}


def recorded(wallspy, pid, seconds=SECONDS):
    """The recording, and what was said."""
    run = record_process(wallspy, ["-r", RATE, "-d", seconds], pid)
    return run.recording, run.stderr


def is_part(what, said, true, elapsed):
    """The recording saw a part of the ELAPSED seconds in which TRUE seconds were spent, and so a
    part of them; they are no small one of the recording."""
    least, most = 0.8 * true * SECONDS / elapsed - 0.1, true + 0.01
    assert true > 0.3 * SECONDS, true
    return close(what, said, (least + most) / 2, (most - least) / 2)


def check_quota(wallspy):
    """A quota of a group above the program's own is found, and so is how long it throttled."""
    with quota_group(5000, 100000) as group, running(SPIN) as spinner:
        below = group / "below"
        below.mkdir()
        (below / "cgroup.procs").write_text(str(spinner.pid))
        os.setpriority(os.PRIO_PROCESS, spinner.pid, 3)
        before, begun = throttled(group), time.monotonic()
        recording, text = recorded(wallspy, spinner.pid)
        true = throttled(group) - before, time.monotonic() - begun
        limits = recording.facts["processes"][0]["cpu_limits"]
        print(text, limits)
        spinner.kill()
        spinner.wait()
        below.rmdir()
        assert abs(limits["quota_cpus"] - 0.05) < 1e-6
        assert limits["quota_path"] == str(group) and limits["quota_level"] == 1
        assert limits["nice"] == 3 and limits["policy"] == "other"
        assert limits.get("throttled_above_ns", 0) == 0
        return {**is_part("throttled", limits["throttled_ns"] / 1e9, *true),
                **close("periods", limits["throttled_periods"], 10 * SECONDS, 2 * SECONDS)}


# Runs wallspy as in a container: {root} is the root of its cgroup namespace, but wallspy itself is
# in another group, {out}, which has no quota; and the groups are mounted at {place} as seen from
# there.
ENTER = """#!/bin/sh
set -e
case $STAGE in
'') echo $$ >{root}/cgroup.procs; STAGE=namespace exec unshare --cgroup "$0" "$@" ;;
namespace) echo $$ >{out}/cgroup.procs; STAGE=mounted exec unshare --mount "$0" "$@" ;;
mounted) mount -t {kind} none {place}; exec {wallspy} "$@" ;;
esac
"""


def check_hidden(wallspy):
    """In a container: the group that throttles is above those that can be seen, and its time is
    known all the same."""
    with quota_group(5000, 100000) as group, running(SPIN) as spinner, \
            tempfile.TemporaryDirectory() as folder:
        if not (group / "cpu.stat.local").exists():
            raise Skipped("the kernel does not count what groups above throttled, as before 6.7")
        root, job = group / "root", group / "root" / "job"
        root.mkdir()
        job.mkdir()
        (job / "cgroup.procs").write_text(str(spinner.pid))
        enter, place = pathlib.Path(folder, "enter"), pathlib.Path(folder, "groups")
        place.mkdir()
        enter.write_text(ENTER.format(
            root=root, out=group.parent, place=place, wallspy=os.path.abspath(wallspy),
            kind="cgroup -o cpu" if group.parent.name == "cpu" else "cgroup2"))
        enter.chmod(0o755)
        before, begun = throttled(group), time.monotonic()
        recording, text = recorded(enter, spinner.pid)
        true = throttled(group) - before, time.monotonic() - begun
        spinner.kill()
        spinner.wait()
        job.rmdir()
        root.rmdir()
    limits = recording.facts["processes"][0]["cpu_limits"]
    print(text, limits)
    assert limits["groups_hidden"] and "quota_cpus" not in limits
    assert limits["throttled_ns"] == 0
    return is_part("throttled above", limits["throttled_above_ns"] / 1e9, *true)


def counted(path, name):
    """The number behind NAME in a file of the kernel's; None: it is not there."""
    for line in pathlib.Path(path).read_text().splitlines():
        if line.split()[0] == name:
            return int(line.split()[1])
    return None


def is_machine(machine, before):
    """What is said of the MACHINE is what its files say; BEFORE: its pages swapped out before."""
    choices = {"huge_pages": "enabled", "huge_pages_defrag": "defrag"}
    folder = pathlib.Path("/sys/kernel/mm/transparent_hugepage")
    checks = [not (folder / file).exists() or f"[{machine[key]}]" in (folder / file).read_text()
              for key, file in choices.items()]
    mode = pathlib.Path("/proc/sys/kernel/numa_balancing")
    checks.append(not mode.exists() or machine["numa_balancing"] == int(mode.read_text()))
    checks.append(abs(machine["load_last"] - os.getloadavg()[0]) < 1)
    pressure = pathlib.Path("/proc/pressure/cpu")
    if pressure.exists():  # two spinners on one CPU: one waits all the time
        some = machine["cpu_pressure_some_ns"] / 1e9
        print(f"pressure: some task waited for a CPU for {some:.2f} s")
        checks.append(0.9 * SECONDS < some < 1.5 * SECONDS + 1)
        checks.append(machine["memory_pressure_some_ns"] >= machine["memory_pressure_full_ns"])
    outs = counted("/proc/vmstat", "pswpout") - before
    checks.append(machine["swap_outs"] <= outs)
    return all(checks)


def check_others(wallspy):
    """Two spinners on one CPU: the one that is not recorded is the busiest, and takes its half of
    that CPU."""
    cpu = min(os.sched_getaffinity(0))
    spin = ["taskset", "-c", str(cpu), *SPIN]
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "8", "RAYON_NUM_THREADS": "5",
                   "WALLSPY_SECRET": "no"}
    with running(spin) as other, subprocess.Popen(spin, env=environment) as target:
        before, outs = schedstat(other.pid).run_s, counted("/proc/vmstat", "pswpout")
        recording, text = recorded(wallspy, target.pid)
        others = schedstat(other.pid).run_s - before
        target.kill()
        other.kill()
    process = recording.facts["processes"][0]
    host = recording.facts["host_cpu"]
    thread = recording.facts["threads"][0]
    print(text, process, host)
    used = process["user_ns"] + process["system_ns"]
    checks = [is_machine(recording.facts["machine"], outs), process["swapped_last_bytes"] >= 0,
              process["cpu_limits"]["cpus_main"] == 1, process["cpu_limits"]["cpus_any"] == 1,
              process["environment"] == "OMP_NUM_THREADS=8 RAYON_NUM_THREADS=5",
              host["cpus_online"] == os.cpu_count(), host["recorded_ns"] == used,
              host["others_ns"] >= host["busiest"]["cpu_ns"] - 0.1e9,
              host["busiest"]["cpu_ns"] >= 0.6e9 * others,
              host["busy_ns"] <= host["cpus_online"] * host["over_ns"] * 1.02,
              host["all_processes_seen"], host["processes_seen"] >= 4]
    assert all(checks), checks
    return close("used", used / 1e9, thread["run_ns"] / 1e9, 0.1)


# One child that sleeps, one that spins a second later, by a child of its own.
LAUNCHER = "sleep 100 & sleep 1; taskset -c 0 sh -c 'sh -c \"while :; do :; done\"; :' & wait"


def check_children(wallspy):
    """A launcher's children are those that the kernel has, also one that came later; and one of
    them is recorded, too."""
    with subprocess.Popen(["sh", "-c", LAUNCHER], start_new_session=True) as launcher:
        try:
            while "sleep" not in children_of(launcher.pid).values():
                time.sleep(0.01)
            recorded_child = next(pid for pid, name in children_of(launcher.pid).items()
                                  if name == "sleep")
            pids = f"{launcher.pid},{recorded_child}"
            recording, text = recorded(wallspy, pids, 2 * SECONDS)
            true = children_of(launcher.pid)
        finally:
            os.killpg(launcher.pid, signal.SIGKILL)
    process = next(p for p in recording.facts["processes"] if p["pid"] == launcher.pid)
    said = {child["pid"]: child for child in process["children"]}
    print(text, process, true)
    spinner = next(child for child in said.values() if child["comm"] == "sh")
    return all([set(true) <= set(said),
                process["children_seen"] in (2, 3),  # with "sleep 1", if it was seen
                all(said[pid]["comm"] == comm for pid, comm in true.items()),
                said[recorded_child]["recorded"], not spinner["recorded"],
                said[recorded_child]["cpu_ns"] == 0, spinner["cpu_ns"] > 0.2e9])


def check_storms(wallspy, storms):
    """Two threads, one that takes page faults and one that sleeps and wakes, count both
    themselves."""
    run = record_attached(wallspy, ["-r", str(RATE)], [storms, str(SECONDS)])
    said = {t["name"]: t for t in run.recording.facts["threads"]}
    process = run.recording.facts["processes"][0]
    print(run.stderr, run.stdout, process)
    amounts = {}
    true = {}
    for line in run.stdout.splitlines()[1:]:
        name, *numbers = line.split()
        true[name] = dict(zip(("seconds", "minor_faults", "voluntary_switches", "user", "system"),
                              map(float, numbers)))
        for what in ("minor_faults", "voluntary_switches"):
            count = true[name][what]
            amounts.update(close(f"{name}: {what}", said[name][what], count, 0.02 * count + 20))
        for what in ("user", "system"):
            amounts.update(close(f"{name}: {what} time", said[name][what + "_ns"] / 1e9,
                                 true[name][what], 0.1))
    assert true["faulter"]["minor_faults"] > 1000 * SECONDS
    assert true["sleeper"]["voluntary_switches"] > 30 * SECONDS
    assert process["voluntary_switches"] == sum(t["voluntary_switches"] for t in said.values())
    count = sum(t["minor_faults"] for t in true.values())
    return {**amounts, **close("faults of both", process["minor_faults"], count, 0.02 * count)}


def check_counters(wallspy, program):
    """Page faults and switches on stacks, against what each thread counts itself."""
    options = ["-r", str(RATE), "-w", "faults,switches"]
    # While wallspy has the copier's CPU, the copier takes no faults around its stop.
    os.sched_setaffinity(0, CPUS[-1:])
    command = ["taskset", "-c", str(CPUS[0]), program, str(SECONDS)]
    run = record_attached(wallspy, options, command)
    print(run.stderr, run.stdout)
    document = run.recording.document
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    profiles = {p["name"]: p for p in document["profiles"]}
    said = {t["name"]: t for t in run.recording.facts["threads"]}
    amounts, faults = {}, {}
    for line in run.stdout.splitlines()[1:]:
        name, *numbers = line.split()
        true_faults, true_switches = map(int, numbers)
        of_thread = said[name]
        switches = (of_thread["voluntary_switches"] + of_thread["involuntary_switches"]
                    - of_thread["own_switches"])
        # The thread counts wallspy's stops, too.
        amounts.update(close(f"{name}: switches", switches + of_thread["own_switches"],
                             true_switches, 0.02 * true_switches + 20))
        shown = profiles[f"{name} {of_thread['tid']} | switches"]
        assert shown["unit"] == "none" and shown["endValue"] == sum(shown["weights"])
        amounts.update(close(f"{name}: switches shown", sum(shown["weights"]), switches, 3))
        shown = profiles[f"{name} {of_thread['tid']} | faults"]
        faults[name] = sum(shown["weights"])
        assert faults[name] == of_thread["minor_faults"] + of_thread["major_faults"]
        amounts.update(close(f"{name}: faults", faults[name], true_faults,
                             0.02 * true_faults + 20))
        if name == "copier" and of_thread["faults_by_time"]:
            raise AssertionError("hardly a stop saw a page fault")
        if name == "copier":
            inside = sum(weight for sample, weight in zip(shown["samples"], shown["weights"])
                         if "copy" in [frames[frame] for frame in sample])
            amounts["copier: faults in copy()"] = share_of_samples(
                inside / faults[name], 1, RATE * SECONDS, catches=0.1, systematic=0.02)
    assert faults["copier"] > 1000 * SECONDS
    assert faults["thinker"] < 0.02 * faults["copier"]
    everything = profiles["ALL | faults"]["weights"]
    assert sum(everything) == sum(t["minor_faults"] + t["major_faults"] for t in said.values())
    return amounts


if __name__ == "__main__":
    checks = {"quota": check_quota, "hidden": check_hidden, "others": check_others,
              "children": check_children, "storms": check_storms, "counters": check_counters}
    # What is said of children is right or wrong: it has no amounts.
    how = unless_others if sys.argv[2] == "children" else measured
    end_with(how, lambda: checks[sys.argv[2]](sys.argv[1], *sys.argv[3:]))
