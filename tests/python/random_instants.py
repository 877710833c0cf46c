"""Samples a program that does nothing but call, through C and back, at random instants: each stack
must be one that the program can have, frame by frame, and merge exactly, but for an eval loop at
the top that is just being entered or left.

usage: PYTHON random_instants.py WALLSPY [SAMPLES]     (without: the target)
"""
import ctypes
import json
import re
import sys

from support.outcome import end_with
from support.targets import Target
from support.wallspy import record_process

SECONDS_AT_MOST, SECONDS = 60, 2
OPTIONS = ["-q", "-r", 1000, "-d", SECONDS, "--max-overhead", 50]
MOST_ENTERING = 0.1  # share; random single steps saw up to 6 %
MOST_NATIVE_CUT = 0.002

LIBC = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


# ---- the target ----

class Made:
    def __init__(self, deep):
        self.worth = worth(deep)

    def __lt__(self, other):
        return compared(self, other)


def nothing(_=None):
    return 0


def worth(deep):
    return sum(generated(deep)) if deep else nothing()


def generated(deep):
    yield nothing()
    yield worth(deep - 1)


def compared(a, b):
    return a.worth < b.worth


def by_sorted():
    return sorted([Made(1), Made(0)])


class Held:
    def __del__(self):
        nothing()


def leaves(_):
    """What it holds is destroyed when it has been left: its activation of the eval loop has no
    frame then."""
    held = Held()
    return nothing()


def by_max(_=None):
    return max([1, 2], key=nothing) + max([1, 2], key=leaves)


def by_qsort(compare):
    two = (ctypes.c_int * 2)(2, 1)
    LIBC.qsort(two, ctypes.c_size_t(2), ctypes.c_size_t(4), compare)


def outer(a, b):
    by_qsort(INNER)
    by_sorted()
    return 0


def inner(a, b):
    by_max()
    return worth(2)


OUTER, INNER = COMPARE(outer), COMPARE(inner)


def main():
    print("ready", flush=True)
    while True:
        by_qsort(OUTER)
        by_max()


# Who calls whom.  `C` is C code outside of the interpreter: ctypes, libffi, qsort.
CALLS = {
    None: ["<module>"],
    "<module>": ["main"],
    "main": ["by_qsort", "by_max"],
    "by_qsort": ["C"],
    "C": ["outer", "inner"],
    "outer": ["by_qsort", "by_sorted"],
    "inner": ["by_max", "worth"],
    "by_sorted": ["__init__", "__lt__"],
    "by_max": ["nothing", "leaves", "__del__"],
    "leaves": ["nothing", "__del__"],
    "__del__": ["nothing"],
    "__init__": ["worth"],
    "__lt__": ["compared"],
    "worth": ["generated", "nothing"],
    "generated": ["worth", "nothing"],
}


# ---- the comparison ----

def steps(frames):
    """The functions of the target, and C where it calls back, root first."""
    path = []
    for frame in frames:
        file = frame.get("file", "")
        if file == __file__:
            path.append(frame["name"].split(".")[-1])
        elif path and path[-1] != "C" and re.match(r"(\[guessed\] )?\[(_ctypes|libffi|libc)", file):
            path.append("C")
    return path


def is_guessed(frame):
    return frame.get("file", "").startswith("[guessed]")


def is_trampoline(frames):
    """libffi's code for a callback is made at run time, or a table of copies: nothing says how it
    is unwound.  Its caller is a guess, and marked."""
    while frames[-1].get("file") == "[off-cpu]":
        frames = frames[:-1]
    inside = re.match(r"\[(anonymous|libffi)", frames[-1].get("file", ""))
    return inside and is_guessed(frames[-2])


def is_cut_by_fault(frames):
    """Off the CPU in a page fault it is read without a stop: no rbp, which rules of libffi and
    others need.  The gap is marked, and counted as merge_native_cut."""
    return (frames[-1].get("file") == "[off-cpu]" and
            any(f["name"] == "[native frames missing]" for f in frames))


def has_no_native_frames(frames):
    """It waits for a CPU, was not asked where, and is like no wait that was.  It says so."""
    return any(f["name"] == "[native frames not read]" for f in frames)


def problem_of(frames):
    if is_cut_by_fault(frames) or has_no_native_frames(frames):
        return None
    odd = [f["name"] for f in frames
           if is_guessed(f) or
           re.search(r"missing]|not matched]|^\[trunc|^\[greenlet|^\[unk", f["name"])]
    if odd and not is_trampoline(frames):
        return odd[0]
    path = steps(frames)
    for caller, callee in zip([None] + path, path):
        in_c = callee == "C" and callee is path[-1]  # malloc, memcpy: from anywhere
        if callee not in CALLS.get(caller, []) and not in_c:
            return "%s calls %s" % (caller, callee)
    return None


def problems_of(recording):
    """Of each stack once."""
    stacks = {tuple(map(json.dumps, frames)): frames
              for _, _, frames in recording.lines[0].samples}
    for stack in stacks.values():
        problem = problem_of(stack) if stack else None
        if problem:
            yield "\n  ".join([problem] + ["%s %s" % (f["name"], f.get("file", "")) for f in stack])


def check_counters(numbers):
    stacks = numbers["stacks_made"]
    zero = ["merge_mismatch", "merge_no_python", "python_walks_cut", "python_reads_failed",
            "unknown_code_objects", "ring_full", "refused", "stuck"]
    yield from ("%s: %d" % (name, numbers[name]) for name in zero if numbers[name])
    if numbers["merge_native_cut"] > MOST_NATIVE_CUT * stacks:
        yield "merge_native_cut: %d of %d" % (numbers["merge_native_cut"], stacks)
    if numbers["stacks_not_complete"] > numbers["frames_guessed"] + numbers["merge_native_cut"]:
        yield "not complete: %d, guessed %d" % (numbers["stacks_not_complete"],
                                                numbers["frames_guessed"])
    if numbers["merge_entering"] > MOST_ENTERING * stacks:
        yield "entering or leaving: %d of %d" % (numbers["merge_entering"], stacks)


def sample(wallspy, wanted, pid):
    """Records until there are enough samples.  Returns the counters and the problems."""
    sums, problems, seconds = {"stacks_made": 0}, [], 0
    while sums["stacks_made"] < wanted and seconds < SECONDS_AT_MOST:
        recording = record_process(wallspy, OPTIONS, pid).recording
        seconds += SECONDS
        for name, value in recording.facts.items():
            if isinstance(value, int):
                sums[name] = sums.get(name, 0) + value
        problems += problems_of(recording)
    return sums, problems + list(check_counters(sums))


def run():
    wallspy, wanted = sys.argv[1], int(sys.argv[2])
    with Target([sys.executable, __file__], "ready") as target:
        sums, problems = sample(wallspy, wanted, target.pid)
    names = ("stacks_made", "merge_exact", "merge_entering", "merge_native_cut", "merge_mismatch",
             "merge_no_python", "python_walks_cut", "frames_guessed", "unknown_code_objects",
             "late_ticks")
    print(*("%s %d" % (name, sums[name]) for name in names), sep=", ")
    print(*problems[:5], sep="\n")
    return not problems and sums["stacks_made"] >= wanted


if __name__ == "__main__":
    end_with(run) if len(sys.argv) > 1 else main()
