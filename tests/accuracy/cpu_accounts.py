#!/usr/bin/env python3
"""Compares wallspy's accounts of CPU time with what threads know of themselves: getrusage, their
CPU clock, schedstat.

usage: cpu_accounts.py WALLSPY BURN own|fight

The kernel's counts are exact, and wallspy reads them: no sampling error in the CPU time.  What was
seen at samples (is the thread running or waiting for a CPU?) has one.
"""
import re
import sys

from support.measure import measured, share_of_samples, unless_others
from support.outcome import end_with
from support.wallspy import record

CPU_WITHIN = 0.02  # of a thread's CPU time
TABLE_WITHIN = 2  # points, of which half a point is the table's rounding
# The wait of a thread for a CPU, a share of its wall time; slices are shorter than the interval.
# That of all is surer, because their waits for the sampler add up to its own CPU time.
CATCHES, CATCHES_OF_ALL, SYSTEMATIC = 0.2, 0.06, 0.01
RATES = {"own": 100, "fight": 250}


def parse_truth(text):
    names = ("cpu", "usage", "queue", "wall")
    return {words[0]: dict(zip(names, map(float, words[1:])))
            for words in map(str.split, text.splitlines())}


def check(ok, text):
    print(f"{text}{'' if ok else '  WRONG'}")
    return ok


def check_totals(recording, truth):
    """The profile `ALL | cpu`: one root frame per thread."""
    cpu = recording.profile("ALL | cpu")
    for name, true in truth.items():
        shown = cpu.seconds(lambda names, name=name: names[0].startswith(name + " "))
        yield check(abs(shown - true["cpu"]) <= CPU_WITHIN * true["cpu"],
                    f"{name}: ALL | cpu {shown:.3f} s, by its own clock {true['cpu']:.3f} s")


def table_rows(text):
    """{thread, or "others": (how many, percentages run, wait-cpu, blocked)}.  There may be several
    rows of others, each of threads that do the same; which thread is in which is not said."""
    rows = {}
    for count, name, *percents in re.findall(
            r"^  (?:(\d+) x )?(burner-[\d*])(?: \d+)? +(\d+)% +(\d+)% +(\d+)%", text, re.M):
        name, count = ("others", int(count)) if count else (name, 1)
        before, sums = rows.get(name, (0, [0, 0, 0]))
        rows[name] = before + count, [a + count * int(b) for a, b in zip(sums, percents)]
    return {name: (count, [total / count for total in sums]) for name,
            (count, sums) in rows.items()}


def check_table(text, truth):
    """Threads without a row of their own share some, with their mean."""
    rows = table_rows(text)
    others = [true for name, true in truth.items() if name not in rows]
    seen = 0
    for name, (count, row) in rows.items():
        of_row = [truth[name]] if name in truth else others
        seen += count
        wall = sum(true["wall"] for true in of_row)
        run, wait = (100 * sum(true[what] for true in of_row) / wall for what in ("usage", "queue"))
        want = (run, wait, 100 - run - wait)
        yield check(all(abs(a - b) <= TABLE_WITHIN for a, b in zip(row, want)),
                    f"{name}: table {row}, by getrusage and schedstat "
                    f"{', '.join(f'{share:.1f}' for share in want)}")
    yield check(seen == len(truth), f"{seen} of {len(truth)} threads in the table")


def waits(recording, truth, rate):
    """The Amount of each thread's wait for a CPU, and that of all.

    The kernel counts a thread's wait while the sampler has its CPU, too, and wallspy does not: the
    thread that was displaced counts as running (docs/sampling.md).  Which one that was the kernel
    does not tell.
    """
    sampler_s = recording.facts["sampler_cpu_ns"] / 1e9
    shown, missed = {}, {}
    for name, true in truth.items():
        line = recording.line(name)
        shown[name] = line.seconds(lambda names: names[-1:] == ["[waiting for cpu]"])
        missed[name] = line.missed({"fight"})
        yield name, share_of_samples(shown[name] / true["wall"], true["queue"] / true["wall"],
                                     rate * true["wall"],
                                     unknown=(missed[name] + sampler_s) / true["wall"],
                                     catches=CATCHES, systematic=SYSTEMATIC)
    walls = sum(true["wall"] for true in truth.values())
    queues = sum(true["queue"] for true in truth.values())
    yield "all", share_of_samples(sum(shown.values()) / walls, (queues - sampler_s) / walls,
                                  rate * walls, unknown=sum(missed.values()) / walls,
                                  catches=CATCHES_OF_ALL, systematic=SYSTEMATIC)


def record_once(wallspy, burn, how):
    """The recording, and the truth; what the kernel counts is right."""
    run = record(wallspy, ["-r", str(RATES[how])], [burn, how])
    print(run.stderr)
    truth = parse_truth(run.stdout)
    assert all([*check_totals(run.recording, truth), *check_table(run.stderr, truth)])
    return run.recording, truth


def main(wallspy, burn, how):
    if how == "own":
        return unless_others(lambda: record_once(wallspy, burn, how) is not None)
    return measured(lambda: dict(waits(*record_once(wallspy, burn, how), RATES[how])))


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
