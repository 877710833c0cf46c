#!/usr/bin/env python3
"""A handler on an alternate stack, caught at work: is what it interrupted below it, to the root?

usage: altstack.py WALLSPY ON_ALTSTACK
"""
import sys

from support.outcome import end_with
from support.wallspy import record_attached

MOST_CUT = 5  # until wallspy knows how much of a deep stack it needs
LEAST_SEEN = 10  # of 2 seconds, on a machine that is busy with other tests


def check(wallspy, program, depth):
    recording = record_attached(wallspy, ["-q", "--internals", "-r", "500"],
                                [program, str(depth), "2"]).recording
    stacks = [names for _, names, _ in recording.line("main").samples if names]
    inside = [names for names in stacks if "handler" in names]
    whole = [names for names in inside
             if names[0] == "_start" and names.index("handler") - names.index("main") >= depth + 2
             and names.count("descend") == depth + 1]
    print(f"depth {depth}: {len(stacks)} stacks, {len(inside)} in the handler, {len(whole)} of "
          f"them whole")
    return len(inside) >= LEAST_SEEN and len(inside) - len(whole) <= MOST_CUT and \
        recording.facts["unwind_other_stack"] == 0


def main(wallspy, program):
    return all([check(wallspy, program, 3), check(wallspy, program, 400)])


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
