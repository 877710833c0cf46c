"""Compares the merged stacks that merge_reader makes of a target with what the target says.

usage: PYTHON merge.py READER     the target runs under the same interpreter
"""
import os
import re
import sys

from support.outcome import end_with
from support.processes import system_call, wait_until
from support.targets import Target
from support.wallspy import call
from walk import HERE, parse_truth

# enum py_merge_result, unwind_end, py_walk_end
EXACT, DONE = "1", "0"

# What may be seen between two Python frames; "N module function " each, internal ones left out.
SORT = (r"(N _ctypes\S* \S+ )+(N libffi\S* \S+ )*(N libc\S* \S+ )+(N libffi\S* \S+ )*"
        r"(N _ctypes\S* \S+ )+")
BETWEEN = {
    "sort": SORT,
    "__init__": r"(N \S+ (builtin_sorted|list_?sort)\S* )*",
    "in_slots": r"(N \S+ (list_richcompare|PyObject_RichCompare|do_richcompare)\S* )*",
    "<module>@<lambda>": r"(N \S+ (builtin_max|min_max)\S* )*",
}
LEAF = r"(N libc\S* \S+ )+(N \S+ (os_read|_Py_read)\S* )*"
THREAD_ROOT = r"(N libc\S* \S+ )+"
MAIN_ROOT = r"(N \S+ main )?(N libc\S* \S+ )+N \S+ _start "


def parse_reader(text):
    threads, problems = {}, []
    for line in text.splitlines():
        words = line.split()
        if words[0] == "T":
            frames = threads.setdefault(int(words[1]), [])
            if words[2:] != [EXACT, DONE, DONE]:
                problems.append(line)
        elif words[0] in "NP":
            frames.append(line)
        else:
            problems.append(line)
    return threads, problems


def pattern_of(truth):
    """What a merged stack must look like, as one regular expression."""
    pattern = LEAF
    for i, (name, line) in enumerate(truth):
        if i:
            inner = truth[i - 1][0].split(".")[-1]
            pattern += BETWEEN.get(name.split(".")[-1], BETWEEN.get("%s@%s" % (name, inner), ""))
        pattern += "P %s %d " % (re.escape(name), line)
    return pattern + (MAIN_ROOT if truth[-1][0] == "<module>" else THREAD_ROOT)


def compare(truth, threads):
    for tid, frames in threads.items():
        got = "".join(frame + " " for frame in frames)
        if tid not in truth or not re.fullmatch(pattern_of(truth[tid]), got):
            yield "%d: got\n  %s\nwant\n  %s" % (tid, got.replace(" N ", "\n  N ").replace(
                " P ", "\n  P "), truth.get(tid))
    for tid in set(truth) - set(threads):
        yield "%d: not seen" % tid


def wait_for_read(pid):
    for tid in os.listdir("/proc/%d/task" % pid):
        wait_until(lambda tid=tid: system_call(pid, tid).startswith("0 "))  # SYS_read


def main():
    with Target([sys.executable, os.path.join(HERE, "merge_target.py")]) as target:
        truth = parse_truth(target)
        wait_for_read(target.pid)
        read = call([sys.argv[1], target.pid])
    threads, problems = parse_reader(read.stdout)
    problems += compare(truth, threads)
    if read.code:
        problems.append("exit %d\n%s" % (read.code, read.stdout))
    print(*problems, "%d threads, %d problems" % (len(truth), len(problems)), sep="\n")
    return not problems and len(truth) >= 6


if __name__ == "__main__":
    end_with(main)
