#!/usr/bin/env python3
"""Threads that wait for a new process each time, for 0 to 1 s: its end, a pipe, a file's lock.  Is
any process named that a thread did not wait for while the dump was made?

usage: peer_churn.py WALLSPY [DUMPS]

Prints how many waits dumps found, how many had their process named, and each wrong one.
"""
import collections
import sys
import tempfile
import time

from support.chance import seeded
from support.outcome import end_with
from support.targets import python_target
from support.wallspy import dump_threads

PROGRAM = r'''
import fcntl, os, random, subprocess, sys, threading, time
folder = sys.argv[1]
SEED = int(sys.argv[2])
HOLD = ("import fcntl, os, sys, time\nf = open(sys.argv[1], 'r+')\nfcntl.flock(f, fcntl.LOCK_EX)\n"
        "os.write(1, b'h'); time.sleep(float(sys.argv[2]))")

def wait(kind, child, path):
    if kind == "pipe":
        child.stdout.read(1)
    elif kind == "child":
        os.waitpid(child.pid, 0)
        child.returncode = 0
    else:
        with open(path, "r+") as f:
            fcntl.flock(f, fcntl.LOCK_EX)

def work(number, log):
    path = f"{folder}/{number}"
    open(path, "w").close()
    chance = random.Random(SEED + number)
    while True:
        kind = chance.choice(["pipe", "child", "file-lock"])
        child = subprocess.Popen([sys.executable, "-S", "-c", HOLD, path, str(chance.random())],
                                 stdout=subprocess.PIPE, bufsize=0)
        child.stdout.read(1)
        begin = time.time()
        wait(kind, child, path)
        print(threading.current_thread().name, kind, child.pid, begin, time.time(), file=log,
              flush=True)
        child.wait()
        child.stdout.close()

log = open(folder + "/log", "w")
for i in range(4):
    threading.Thread(target=work, args=(i, log), name=f"w{i}", daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
'''


def waits_of(folder):
    """Thread and kind → (pid, begin, end) of each wait."""
    waits = collections.defaultdict(list)
    with open(folder + "/log", encoding="ascii") as log:
        for line in log:
            thread, kind, pid, begin, end = line.split()
            waits[thread, kind].append((int(pid), float(begin), float(end)))
    return waits


def look(wallspy, pid):
    begin = time.time()
    threads = dump_threads(wallspy, pid)
    return begin, time.time(), {t["name"]: t["waits_for"] for t in threads if t["waits_for"]}


def main():
    wallspy, dumps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    seed = seeded().randrange(1 << 32)
    with tempfile.TemporaryDirectory() as folder:
        with python_target(PROGRAM, folder, seed) as target:
            looks = [look(wallspy, target.pid) for _ in range(dumps)]
            time.sleep(1)
        waits = waits_of(folder)
    found = named = wrong = 0
    for begin, end, sides in looks:
        for thread, side in sides.items():
            if (thread, side["kind"]) not in waits:
                continue
            meanwhile = {pid for pid, b, e in waits[thread, side["kind"]] if b < end and e > begin}
            found += bool(meanwhile)
            named += "pid" in side and bool(meanwhile)
            if meanwhile and "pid" in side and side["pid"] not in meanwhile:
                wrong += 1
                print("wrong:", thread, side, meanwhile)
    print(f"{dumps} dumps: {found} waits, {named} with a process, {wrong} of them wrong")
    return named >= dumps / 10 and wrong == 0


if __name__ == "__main__":
    end_with(main)
