#!/usr/bin/env python3
"""A program that waits in reads of one file only, and has another one open in its place in
between: is it that file that is named, also where the worker comes to it when the other is open?
And the file system that it lies on?

usage: wait_objects.py WALLSPY
"""
import pathlib
import re
import sys

from support.outcome import end_with
from support.wallspy import record_attached

MOUNT = "/dev/shm"

PROGRAM = """
import os, subprocess, sys, tempfile, time
folder = tempfile.mkdtemp(dir=sys.argv[1])
waited, other = folder + "/waited", folder + "/other"
os.mkfifo(waited)
open(other, "w").close()
# Both ends open it for both, so that neither ever waits for the other to open it.
feeder = subprocess.Popen(["sh", "-c", 'exec 1<>"$0"; while sleep 0.03; do echo x; done', waited])
print("ready", flush=True)
end = time.time() + 3
while time.time() < end:
    fd = os.open(waited, os.O_RDWR)
    os.read(fd, 100)
    second = os.open(other, os.O_RDONLY)
    os.dup2(second, fd)
    os.close(second)
    until = time.time() + 0.03
    while time.time() < until:
        pass
    os.close(fd)
feeder.kill()
feeder.wait()
os.remove(waited), os.remove(other), os.rmdir(folder)
"""


def main():
    wallspy = sys.argv[1]
    command = [sys.executable, "-c", PROGRAM, MOUNT]
    recording = record_attached(wallspy, ["-q"], command).recording
    ends = [" > ".join(names[-2:]) for _, names, _ in recording.line("main").samples if names]
    reads = [end for end in ends if "read" in end and "[blocked]" in end]
    # Where wallspy looks while the FIFO is still open by that number, it knows that it is one.
    right = [end for end in reads
             if end.startswith(f"read {MOUNT} [blocked] > ") and end.endswith("/waited")
             or re.fullmatch(rf"read > read pipe {MOUNT}/\S+/waited \[blocked\]", end)]
    wrong = sorted({end for end in reads if end not in right})
    print(f"{len(reads)} stacks in read(2), {len(right)} of them with its file; else: {wrong}")
    return len(right) >= 5 and not wrong and is_kernels(recording.facts["mounts"])


def is_kernels(mounts):
    """Is what the file says of MOUNT what the kernel says?"""
    lines = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    source, _, kind = [line[:3] for line in lines if line[1] == MOUNT][-1]
    print(mounts, source, kind)
    return {"point": MOUNT, "type": kind, "source": source, "served": False} in mounts


if __name__ == "__main__":
    end_with(main)
