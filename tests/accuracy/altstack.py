#!/usr/bin/env python3
"""A handler on an alternate stack, caught at work: is what it interrupted below it, to the root?

usage: altstack.py WALLSPY ON_ALTSTACK
"""
import sys

from support.outcome import end_with
from support.wallspy import record_attached

MOST_CUT = 5  # until wallspy knows how much of a deep stack it needs
LEAST_SEEN = 10
# Holds in which signals come make wallspy stop the thread less often, once a second at the least;
# the longer one sees enough then.
SECONDS = 2, 16


def is_whole(names, depth):
    return names[0] == "_start" and "main" in names and names.count("descend") == depth + 1 and \
        names.index("handler") - names.index("main") >= depth + 2


def check(wallspy, program, depth):
    for seconds in SECONDS:
        recording = record_attached(wallspy, ["-q", "--internals", "-r", "500"],
                                    [program, str(depth), str(seconds)]).recording
        stacks = [names for _, names, _ in recording.line("main").samples if names]
        inside = [names for names in stacks if "handler" in names]
        whole = [names for names in inside if is_whole(names, depth)]
        print(f"depth {depth}: {len(stacks)} stacks, {len(inside)} in the handler, {len(whole)} "
              f"of them whole")
        if len(inside) >= LEAST_SEEN:
            break
    return len(inside) >= LEAST_SEEN and len(inside) - len(whole) <= MOST_CUT and \
        recording.facts["unwind_other_stack"] == 0


def main(wallspy, program):
    return all([check(wallspy, program, 3), check(wallspy, program, 400)])


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
