"""A tree of processes for tools/bench-tree: tree.py PROCESSES THREADS BUSY MODULES.

Imports MODULES (by commas), then forks PROCESSES workers of THREADS threads each.  The main threads
of the first BUSY workers compute.  Those of the others work in turn in three parts of the standard
library, together for a quarter of a CPU: 2 ms, then a pause that is the longer the more there are.
All other threads wait on a lock.  Prints the parent's pid, works until its standard input ends, and
then prints the seconds of CPU that all of it has used.
"""
import importlib
import json
import os
import re
import resource
import signal
import sys
import threading
import time

WORK_S, PAUSE_S = 0.002, 0.008  # PAUSE_S for each worker


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100))


def to_json(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        json.dumps({str(i): [i, i / 3] for i in range(20)}, indent=1)


def to_re(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        re.sub("(a+)b", lambda match: match.group(1).upper(), "xaab" * 20)


def work(number, pause, busy):
    kinds = [compute, to_json, to_re]
    while busy:
        compute(1)
    time.sleep(PAUSE_S * number)
    while True:
        kinds[number % len(kinds)](WORK_S)
        number += 1
        time.sleep(pause)


def worker(number, processes, threads, busy):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    never = threading.Event()
    for _ in range(threads - 1):
        threading.Thread(target=never.wait, daemon=True).start()
    work(number, PAUSE_S * processes, busy)


def main():
    processes, threads, busy = map(int, sys.argv[1:4])
    for module in filter(None, sys.argv[4].split(",")):
        importlib.import_module(module)
    pids = []
    for number in range(processes):
        pid = os.fork()
        if pid == 0:
            worker(number, processes, threads, number < busy)
        pids.append(pid)
    print(os.getpid(), flush=True)
    sys.stdin.read()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    for pid in pids:
        os.waitpid(pid, 0)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(usage.ru_utime + usage.ru_stime, flush=True)


main()
