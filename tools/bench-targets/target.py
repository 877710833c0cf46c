"""Python targets of tools/bench: target.py KIND LIBSPIN.  They say and take what spin.c does.

python     pure Python, 40 calls deep
extension  a C function 20 calls deep that holds the GIL
numpy      the same below a numpy ufunc that calls back into Python
torch      the main thread in C code holding the GIL, torch and its threads loaded, two DataLoader
           workers
busy:N     N - 1 more threads that compute in C, and N that are blocked, beside the main thread in C
           code
threads:N  N threads, nearly all blocked, beside the main thread in C code
churn:N    N threads a second that are started and end at once, beside the main thread in C code
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
    print(json.dumps({"stops": stops, "detected": detected, "loops": loops, "start_ns": start,
                      "end_ns": last, "holds": holds}), flush=True)


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


def run_extension(library):
    ctypes.PyDLL(library).spin(20)


def run_numpy(library):
    import numpy

    numpy.frompyfunc(lambda depth: ctypes.PyDLL(library).spin(int(depth)), 1, 1)(numpy.array([20]))


def run_torch(library):
    import torch
    from torch.utils.data import DataLoader

    batches = iter(DataLoader(torch.rand(10000, 100), batch_size=10, num_workers=2))
    a = next(batches)
    for _ in range(3):
        a = (a.T @ a).softmax(0)[:10]
    run_extension(library)


def wake_often():
    while True:
        time.sleep(0.01)


def start_threads(count, function, *args):
    for _ in range(count):
        threading.Thread(target=function, args=args, daemon=True).start()


def run_busy(library, count):
    free = ctypes.CDLL(library)
    start_threads(count - 1, free.burn)
    start_threads(count, threading.Event().wait)
    free.spin(20)


def run_threads(library, count):
    waking = min(count, WAKING_THREADS) if count > WAKING_THREADS else 0
    start_threads(waking, wake_often)
    start_threads(count - waking, threading.Event().wait)
    ctypes.CDLL(library).spin(20)


def run_churn(library, rate):
    free = ctypes.CDLL(library)
    start_threads(1, free.churn, rate)
    free.spin(20)


KINDS = {"extension": run_extension, "numpy": run_numpy, "torch": run_torch, "busy": run_busy,
         "threads": run_threads, "churn": run_churn}


def main():
    kind, library = sys.argv[1:]
    name, *number = kind.split(":")
    if name == "python":
        run_python()
    else:
        KINDS[name](library, *map(int, number))


main()
