#!/usr/bin/env python3
"""A handler on an alternate stack, caught at work: is what it interrupted below it, to the root?

usage: altstack.py WALLSPY ON_ALTSTACK
"""
import sys

import recorded

MOST_CUT = 5  # until wallspy knows how much of a deep stack it needs
LEAST_SEEN = 10  # of 2 seconds, on a machine that is busy with other tests


def check(wallspy, program, depth):
    recording = recorded.record_attached(wallspy, ["-q", "--internals", "-r", "500"],
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


if __name__ == "__main__":
    sys.exit(0 if all([check(*sys.argv[1:], 3), check(*sys.argv[1:], 400)]) else 1)
