"""Python targets of tools/bench: target.py KIND LIBSPIN.  They say and take what spin.c does.

python     pure Python, 40 calls deep
extension  a C function 20 calls deep that holds the GIL
threads:N  N threads, nearly all blocked, beside a main thread in C code
torch      the main thread in C code holding the GIL, torch and its threads loaded
"""
import ctypes
import json
import os
import resource
import signal
import sys
import threading
import time

HOLD_NS = 2000
WAKING_THREADS = 8


class Flags:
    begun = ended = False


def on_signal(number, _frame):
    if number == signal.SIGUSR1:
        Flags.begun = True
    else:
        Flags.ended = True


def queued_ns(schedstat):
    return int(os.pread(schedstat, 96, 0).split()[1])


def measure():
    schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    now, usage, thread = time.monotonic_ns, resource.getrusage, resource.RUSAGE_THREAD
    holds = []
    first = seen = usage(thread).ru_nvcsw
    loops = detected = 0
    queued_before = queued_ns(schedstat)
    start = last = now()
    while not Flags.ended:
        t = now()
        loops += 1
        if t - last >= HOLD_NS:
            switches = usage(thread).ru_nvcsw
            queued = queued_ns(schedstat)
            if switches != seen:
                holds.append((last, t - last, queued - queued_before))
                detected += switches - seen
            t = now()
            seen, queued_before = switches, queued
        last = t
    stops = usage(thread).ru_nvcsw - first
    print(json.dumps({"stops": stops, "detected": detected, "loops": loops, "start_ns": start, "end_ns": last,
                      "holds": holds}), flush=True)


def descend(depth):
    if depth:
        descend(depth - 1)
        return
    while not Flags.begun:
        pass
    measure()


def run_python():
    signal.signal(signal.SIGUSR1, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    print("ready", flush=True)
    descend(40)


def wake_often():
    while True:
        time.sleep(0.01)


def run_threads(count, library):
    never = threading.Event()
    for i in range(count):
        threading.Thread(target=wake_often if i < WAKING_THREADS else never.wait, daemon=True).start()
    ctypes.CDLL(library).spin(20)


def run_torch(library):
    import torch

    a = torch.rand(600, 600)
    for _ in range(3):
        a = (a @ a).softmax(0)
    ctypes.PyDLL(library).spin(20)


def main():
    kind, library = sys.argv[1:]
    if kind == "python":
        run_python()
    elif kind == "extension":
        ctypes.PyDLL(library).spin(20)
    elif kind == "torch":
        run_torch(library)
    else:
        run_threads(int(kind.split(":")[1]), library)


main()
