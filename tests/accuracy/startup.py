#!/usr/bin/env python3
"""How a launched program begins: in the dynamic linker, and in Python code that runs before wallspy
has found Python. Neither is a doubt, nor shown as what it is not.

usage: startup.py WALLSPY PYTHON LOADS_SLOWLY
"""
import sys

from support.outcome import end_with
from support.wallspy import record

LAUNCHES = 3
# Of all stacks: a library that was mapped a moment ago, as an extension that Python imports, is not
# known yet.  Some of 60 launches meet it once or twice.
IN_NEW_LIBRARIES = 0.05


def doubts(facts):
    unknown = facts["unwind_no_cfi"] > IN_NEW_LIBRARIES * facts["stacks_made"]
    return [(doubt, facts[doubt]) for doubt, bad in
            (("unwind_no_cfi", unknown), ("merge_mismatch", facts["merge_mismatch"])) if bad]


def check_linker(wallspy, program):
    stacks, odd = 0, []
    for _ in range(LAUNCHES):
        recording = record(wallspy, ["-q"], [program]).recording
        loading = [(seconds, names) for seconds, names,
                   _ in recording.line("main").samples if names]
        stacks += len(loading)
        # The first may come before the library is known.
        late = [names for seconds, names in loading if seconds > 0.1]
        odd += [names for names in late if names[0] not in ("_start", "_dl_start_user") or
                "linger" not in names]
        odd += doubts(recording.facts) + ([] if late else ["nothing"])
    print(f"{stacks} stacks while a library is loaded; odd: {odd}")
    return not odd


def check_python(wallspy, python):
    early, odd = 0, []
    for _ in range(LAUNCHES):
        recording = record(wallspy, ["-q", "-r", "1000"],
                           [python, "-c", "import time; time.sleep(0.2)"]).recording
        stacks = [names for _, names, _ in recording.line("main").samples if names]
        odd += [names[-3:] for names in stacks
                if "_PyEval_EvalFrameDefault" in names[:-1]] + doubts(recording.facts)
        early += recording.facts["stacks_before_python"]
    print(f"{early} stacks before Python was found; odd: {odd}")
    return not odd


def main(wallspy, python, program):
    return all([check_linker(wallspy, program), check_python(wallspy, python)])


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
