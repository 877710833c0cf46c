#!/usr/bin/env python3
"""Waits that spin, in the runtimes themselves: what their threads burn there is told as such, and
what they work is not.

usage: real_spinners.py WALLSPY libgomp|libomp|tbb|mpich|openmpi

Builds the program with the library that the compiler finds (CPATH, LIBRARY_PATH, LD_LIBRARY_PATH
and PATH may name others).  Exits 77 where there is none.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

from support.measure import unless_others
from support.outcome import Skipped, end_with
from support.wallspy import record_process

HERE = pathlib.Path(__file__).resolve().parent / "spinners"
RATE = 200
SECONDS = 3
LEAST_SEEN = 0.9  # of the threads' time
CPUS = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
BUILDS = {
    "libgomp": ["cc", "-fopenmp", HERE / "omp.c"],
    # gcc's calls of libgomp are in libomp, too.
    "libomp": ["sh", "-c", 'cc -O1 -g -fopenmp -c "$1" -o "$0.o" && exec cc "$0.o" -o "$0" -lomp',
               "{out}", HERE / "omp.c"],
    "tbb": ["c++", "-std=c++17", HERE / "tbb.cc", "-ltbb"],
    "mpich": ["cc", HERE / "mpi.c", "-lmpich"],
    "openmpi": ["cc", HERE / "mpi.c", "-lmpi"],
}
# What users of a shared machine set, so that ranks share CPUs and root may run them.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "0"}


def build(kind, folder):
    """The program; skips where its library is missing."""
    program = pathlib.Path(folder, "spinner")
    command = [str(word).format(out=program) for word in BUILDS[kind]]
    if command[0] != "sh":
        command += ["-O1", "-g", "-o", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise Skipped(error) from error
    if done.returncode != 0:
        print(done.stderr)
        raise Skipped(f"no {kind} here")
    return program


@contextlib.contextmanager
def running(command, environment):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True,
                          env={**os.environ, **environment}) as target:
        try:
            yield target
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(target.pid, 9)


def record(wallspy, command, environment):
    """The recording of COMMAND, and the numbers of its last line."""
    with running(command, environment) as target:
        words = target.stdout.readline().split()
        if words[:1] != ["ready"]:
            raise Skipped(f"it does not run here: {words} {target.wait()}")
        pid = words[1] if words[1:] else target.pid
        recording, _, said = record_process(wallspy, ["-r", RATE, "-w", "run"], pid)
        true = [float(word) for word in target.stdout.read().split()]
    print(said)
    assert recording.facts["seen_share"] >= LEAST_SEEN, "too much was not seen"
    return recording, true


def ran(recording, wanted):
    """CPU seconds of all threads in stacks that WANTED agrees to."""
    line = next(line for line in recording.lines if line.name.startswith("ALL | cpu"))
    return line.seconds(wanted)


def close(what, said, true, within):
    print(f"{what}: {said:.3f} said, {true:.3f} true")
    return abs(said - true) <= within


def told(recording, rule):
    return any(finding["rule"] == rule for finding in recording.facts["findings"])


def in_spin(names):
    return names[-1:] and names[-1].startswith("[spinning: ")


def is_work_told(recording, worked_s):
    """All in work() is work, and as much as the program says."""
    spun_in_work = ran(recording, lambda names: "work" in names and in_spin(names))
    return [close("seconds in work()", ran(recording, lambda names: "work" in names), worked_s,
                  0.15 * worked_s + 0.15), close("spun in work()", spun_in_work, 0, 0)]


def has_to_be_told(run_s, workers):
    """By the rule, and by so much that chance does not matter."""
    return run_s > 1.3 * 0.2 * workers * SECONDS or run_s > 1.3 * 0.25 * SECONDS


def check_openmp_with(wallspy, program, library, threads, policy):
    # Bound to two CPUs, as many threads share them on any machine.
    command = ["taskset", "-c", CPUS, program, str(threads), str(SECONDS)]
    environment = {"OMP_WAIT_POLICY": policy, "OMP_DYNAMIC": "false"}
    recording, (worked_s,) = record(wallspy, command, environment)
    pools = recording.facts["processes"][0]["openmp_pools"]
    print(threads, policy, pools)
    run_s, spin_s = pools[0]["run_ns"] / 1e9, pools[0]["spin_ns"] / 1e9
    checks = is_work_told(recording, worked_s) + [
        len(pools) == 1, pools[0]["library"].startswith(library),
        pools[0]["threads"] == threads - 1]
    if policy == "passive":
        return checks + [run_s < 0.1 * SECONDS, not told(recording, "spinning")]
    return checks + [close("workers spin", spin_s, run_s, 0.05 * run_s),
                     told(recording, "spinning") or not has_to_be_told(run_s, threads - 1)]


def check_openmp(wallspy, program, library):
    """Workers spin until there is work; with OMP_WAIT_POLICY=passive they sleep.  libgomp's sleep
    soon, too, where there are more than CPUs."""
    return [is_right for threads in (2, 8) for policy in ("active", "passive") for is_right in
            check_openmp_with(wallspy, program, library, threads, policy)]


def check_tbb(wallspy, program, _library):
    """Whoever does not work searches for tasks, or sleeps."""
    recording, (worked_s,) = record(wallspy, [program, str(SECONDS)], {})
    total_s = ran(recording, lambda names: True)
    spun_s = ran(recording, lambda names: in_spin(names) and "TBB" in names[-1])
    rest_s = total_s - ran(recording, lambda names: "work" in names)
    print(f"TBB: {total_s:.2f} s of CPU time, {spun_s:.2f} s spun")
    # The rest is making tasks and running empty ones.
    return is_work_told(recording, worked_s) + [spun_s > 0.2, spun_s >= 0.6 * rest_s]


def check_mpi(wallspy, program, _library):
    """A rank that waits for a message."""
    command = ["mpiexec", "-n", "2", program, str(SECONDS)]
    recording, (waited_s,) = record(wallspy, command, OPEN_MPI)
    spun_s = ran(recording, lambda names: in_spin(names) and "MPI" in names[-1])
    inside_s = ran(recording, lambda names: "receive" in names)
    return [close("seconds in receive()", inside_s, waited_s, 0.05 * waited_s + 0.1),
            close("spun", spun_s, inside_s, 0.1 * inside_s), waited_s > 0.2,
            told(recording, "spinning") or not has_to_be_told(waited_s, 1)]


def check(wallspy, kind):
    how = {"tbb": check_tbb, "mpich": check_mpi, "openmpi": check_mpi}.get(kind, check_openmp)
    with tempfile.TemporaryDirectory() as folder:
        checks = how(wallspy, build(kind, folder), kind)
    print(checks)
    return all(checks)


if __name__ == "__main__":
    end_with(unless_others, lambda: check(*sys.argv[1:]))
