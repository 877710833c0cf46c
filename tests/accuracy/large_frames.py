#!/usr/bin/env python3
"""Frames of half a megabyte each, of a thread that has to be held to be read: is each stack whole?

usage: large_frames.py WALLSPY LARGE_FRAMES
"""
import sys

from support.outcome import end_with
from support.wallspy import record_attached

LEAST_SEEN = 50  # of 2 seconds, on a machine that is busy with other tests


def check(wallspy, program, depth):
    recording = record_attached(wallspy, ["-q", "--internals", "-r", "200"],
                                [program, str(depth), "2"]).recording
    stacks = [names for _, names, _ in recording.line("main").samples if names]
    whole = [names for names in stacks if names[0] == "_start" and
             names.count("descend") == depth + 1]
    print(f"depth {depth}: {len(stacks)} stacks, {len(whole)} of them whole")
    # Each stack that is cut tells of one frame more.
    return len(stacks) >= LEAST_SEEN and len(stacks) - len(whole) <= depth + 3


def main(wallspy, program):
    return all([check(wallspy, program, 0), check(wallspy, program, 9)])


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
