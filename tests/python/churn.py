"""Code objects that come and go, most of them where another was just before, sampled 1000 times a
second: each must be named, and rightly, with its own file and line.  So must strings that differ in
nothing but the line on which they call.  Runs wallspy on itself.

usage: churn.py WALLSPY (without it: the target)"""

import itertools
import re
import sys
import sysconfig
import time

from support.wallspy import record

SECONDS = 2
LANES, LINES = 16, 90
CALL_LINES = range(10, 40)
# Seconds that a function lives: many are seen once, some so often that they are seldom looked at
# again.
LIVES = [0.002] * 20 + [0.1] + [0.001] * 9


def waiter(name):
    """A function that stays, and tells who called it."""
    source = "def %s(seconds):\n end = now() + seconds\n while now() < end: pass\n" % name
    scope = {"now": time.perf_counter}
    exec(source, scope)
    return scope[name]


def churn():
    lanes = [waiter("lane_%d" % i) for i in range(LANES)]
    tellers = {"told_%d" % i: waiter("told_%d" % i) for i in CALL_LINES}
    end = time.perf_counter() + SECONDS
    places, made = set(), 0
    lines = itertools.cycle(CALL_LINES)
    for life in itertools.cycle(LIVES):
        if time.perf_counter() > end:
            break
        source = "\n" * (made % LINES) + "def fresh_%d(): wait(%f)\nfresh_%d()\n" % (made, life,
                                                                                     made)
        scope = {"wait": lanes[made % LANES]}
        exec(compile(source, "<made %d>" % made, "exec"), scope)
        places.add(id(scope["fresh_%d" % made].__code__))
        scope.clear()  # frees it
        for _ in range(3):
            line = next(lines)
            exec("\n" * (line - 1) + "told_%d(.002)" % line, tellers)
        made += 1
    print(made, len(places))


def recorded(wallspy):
    """Returns how many functions were made, at how many addresses, and the stacks."""
    run = record(wallspy, ["-q", "--lines", "-r", "1000"], [sys.executable, __file__])
    made, places = map(int, run.stdout.split())
    return made, places, [frames for _, _, frames in run.recording.lines[0].samples]


def problem_of(stack):
    """Of the functions on STACK, caller first."""
    for frame, callee in zip(stack, stack[1:] + [{"name": ""}]):
        if frame["name"] == "[unknown code]":
            return "unknown: " + " > ".join(f["name"] for f in stack)
        if callee["name"].startswith("told_") and callee["name"] != "told_%s" % frame.get("line"):
            return "%s called in line %s" % (callee["name"], frame.get("line"))
        fresh = re.fullmatch(r"fresh_(\d+)", frame["name"])
        if not fresh:
            continue
        number = int(fresh.group(1))
        if (frame["file"], frame.get("line")) != ("<made %d>" % number, number % LINES + 1):
            return "%s at %s:%s" % (frame["name"], frame["file"], frame.get("line"))
        if callee["name"].startswith("lane_") and callee["name"] != "lane_%d" % (number % LANES):
            return "%s calls %s" % (frame["name"], callee["name"])
    return None


def main():
    made, places, stacks = recorded(sys.argv[1])
    seen = {f["name"] for stack in stacks for f in stack if f["name"].startswith("fresh_")}
    problems = [p for p in map(problem_of, stacks) if p]
    print("%d functions made at %d addresses, %d seen, %d of %d stacks wrong" % (
        made, places, len(seen), len(problems), len(stacks)))
    print(*problems[:10], sep="\n")
    free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")  # frees them when it collects
    assert free_threaded or places < made / 2, "addresses were not used again"
    assert len(seen) > 10
    assert any(f["name"].startswith("told_") for stack in stacks for f in stack)
    assert not problems


if __name__ == "__main__":
    main() if len(sys.argv) > 1 else churn()
