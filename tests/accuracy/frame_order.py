#!/usr/bin/env python3
"""Looks at a program that calls Python in many ways, at random instants: is each stack one that can
be?

usage: frame_order.py WALLSPY PYTHON
"""
import collections
import pathlib
import sys

import callers
from support.outcome import end_with
from support.wallspy import record_attached

SAMPLES = 2000
MOST_GUESSES = 0.01  # of all stacks
SECONDS = 3
MOST_ROUNDS = 4
TARGET = str(pathlib.Path(callers.__file__).resolve())
COUNTERS = ["stops", "late_ticks", "merge_exact", "merge_entering", "merge_native_cut",
            "merge_mismatch",
            "python_walks_cut", "python_reads_failed", "unwind_no_cfi", "unwind_bad_memory",
            "unwind_no_progress", "frames_guessed"]
MISSING = "[native frames missing]"
MUST_BE_0 = ["merge_mismatch", "python_reads_failed"]


def last_part(name):
    return name and name.split(".")[-1]


# Before 3.11 code objects have no qualified name.
CALLS = {last_part(name): set(map(last_part, names)) for name, names in callers.CALLS.items()}


def is_guess(names, frames):
    """wallspy itself says that it had no unwind information, or (in a page fault, where it reads
    without a stop) not the registers that it needs: native frames may be missing."""
    return (any(name.startswith("0x") or name in ("[truncated]", MISSING) for name in names) or
            any(frame.get("file", "").startswith("[guessed]") for frame in frames))


def problem(names, frames):
    """What is wrong with a stack, root first; None if nothing is."""
    caller, native = None, []
    for name, frame in zip(map(last_part, names), frames):
        file = frame.get("file", "")
        if file == TARGET:
            if name not in CALLS[caller]:
                return f"{name} below {caller}"
            between = callers.BETWEEN.get((caller, name), "")
            if between not in native + [""] and not is_guess(names, frames):
                return f"no {callers.BETWEEN[caller, name]} between {caller} and {name}"
            caller, native = name, []
        elif file.startswith("["):
            native.append(name)
        elif file and caller not in callers.USE_LIBRARY:
            return f"{name} of {file} below {caller}"
        elif not file and name != MISSING and caller not in callers.USE_LIBRARY:
            return f"{name} below {caller}"
    if names.count("fall") > callers.DEPTH + 1:
        return "too many of fall"
    return None


def look(wallspy, python, totals):
    """One recording; adds its counters to TOTALS and returns the wrong stacks."""
    recording = record_attached(wallspy, ["-q", "-r", "1000"],
                                [python, TARGET, str(SECONDS)]).recording
    for name in COUNTERS:
        totals[name] += int(recording.facts[name])
    samples = recording.line("main").samples
    totals["stacks"] += len(samples)
    totals["stacks with a guess"] += sum(is_guess(names, frames) for _, names, frames in samples)
    return [(trouble, names) for _, names, frames in samples
            for trouble in [problem(names, frames)] if trouble]


def main():
    wallspy, python = sys.argv[1:]
    totals = collections.Counter()
    wrong = []
    for _ in range(MOST_ROUNDS):
        wrong += look(wallspy, python, totals)
        if totals["stops"] >= SAMPLES:
            break
    print(*(f"{name} {n}" for name, n in totals.items()), sep=", ")
    for trouble, names in wrong:
        print(f"WRONG: {trouble}: {' > '.join(names)}")
    enough = totals[
        "stops"] >= SAMPLES and totals["stacks with a guess"] <= MOST_GUESSES * totals["stacks"]
    return enough and not wrong and not any(totals[name] for name in MUST_BE_0)


if __name__ == "__main__":
    end_with(main)
