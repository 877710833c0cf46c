#!/usr/bin/env python3
"""Frames of half a megabyte each, of a thread that has to be held to be read: is each stack whole?

usage: large_frames.py WALLSPY LARGE_FRAMES
"""
import sys

from support.measure import unless_others
from support.outcome import end_with
from support.wallspy import record_attached

LEAST_SEEN = 50  # of 2 seconds, on a machine that is busy with other tests


class Forgotten(Exception):
    """Which no load of the machine excuses."""


def check(wallspy, program, depth):
    recording = record_attached(wallspy, ["-q", "--internals", "-r", "200"],
                                [program, str(depth), "2"]).recording
    stacks = [names for _, names, _ in recording.line("main").samples if names]
    known = [names.count("descend") if names[0] == "_start" else 0 for names in stacks]
    cut = [names.count("descend") for names, n in zip(stacks, known) if n != depth + 1]
    print(f"depth {depth}: {len(stacks)} stacks, {len(cut)} of them cut: {cut}")
    if cut != sorted(cut) or depth + 1 in known[:len(cut)]:
        raise Forgotten("what a stack has told is not used for the next ones")
    # Each stack that is cut tells of one frame more, before the next is read.
    return len(stacks) >= LEAST_SEEN and len(cut) <= depth + 3


def main(wallspy, program):
    return all([check(wallspy, program, 0), check(wallspy, program, 9)])


if __name__ == "__main__":
    end_with(unless_others, lambda: main(*sys.argv[1:]))
