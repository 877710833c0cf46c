#!/usr/bin/env python3
"""Frames of half a megabyte each, of a thread that has to be held to be read: is each stack whole?

usage: large_frames.py WALLSPY LARGE_FRAMES
"""
import sys

import recorded

LEAST_SEEN = 50  # of 2 seconds, on a machine that is busy with other tests


def check(wallspy, program, depth):
    recording = recorded.record_attached(wallspy, ["-q", "--internals", "-r", "200"],
                                         [program, str(depth), "2"]).recording
    stacks = [names for _, names, _ in recording.line("main").samples if names]
    whole = [names for names in stacks if names[0] == "_start" and
             names.count("descend") == depth + 1]
    print(f"depth {depth}: {len(stacks)} stacks, {len(whole)} of them whole")
    # Each stack that is cut tells of one frame more.
    return len(stacks) >= LEAST_SEEN and len(stacks) - len(whole) <= depth + 3


if __name__ == "__main__":
    sys.exit(0 if all([check(*sys.argv[1:], 0), check(*sys.argv[1:], 9)]) else 1)
