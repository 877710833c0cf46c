#!/usr/bin/env python3
"""A program that waits in reads of one file only, and has another one open in its place in between: is it that file
that is named, also where the worker comes to it when the other is open?

usage: objects.py WALLSPY
"""
import sys

import recorded

PROGRAM = """
import os, subprocess, sys, tempfile, time
folder = tempfile.mkdtemp()
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
    recording = recorded.record_attached(wallspy, ["-q"], [sys.executable, "-c", PROGRAM]).recording
    leaves = [names[-1] for _, names, _ in recording.line("main").samples if names]
    reads = [name for name in leaves if name.startswith("read") and name.endswith("[blocked]")]
    right = [name for name in reads if name.endswith("/waited [blocked]")]
    wrong = sorted({name for name in reads if name not in right})
    print(f"{len(reads)} stacks in read(2), {len(right)} of them with its file; else: {wrong}")
    return len(right) >= 5 and not wrong


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
