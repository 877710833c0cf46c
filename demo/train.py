#!/usr/bin/env python3
"""Trains nothing, slowly: a Python main thread feeds operators to a C++ worker thread and waits for
results.

Who reads only the Python side sees time in numpy_of, loss_of and metrics.  The worker has the
cause: each topk asks the driver for the device's properties.  Run it from the build directory: it
needs libmge.so beside it.
"""
import argparse
import collections
import contextlib
import ctypes
import json
import os
import pathlib
import sys
import time

EXIT_SKIPPED = 77  # what test runners take as "cannot run here"
LOAD_CPU_S = 0.010  # the worker has nothing to do meanwhile
AUGMENT_CPU_S = 0.031  # overlaps the worker's first operators


class Truth(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64)
                for name in "alive idle conv topk ioctl device_calls eintr".split()]


def load_engine():
    engine = ctypes.CDLL(str(pathlib.Path(__file__).resolve().parent / "libmge.so"))
    worker, ticket = ctypes.c_void_p, ctypes.c_uint64
    engine.mge_start.restype = worker
    engine.mge_conv.argtypes, engine.mge_conv.restype = [worker], ticket
    engine.mge_topk.argtypes, engine.mge_topk.restype = [worker], ticket
    engine.mge_sync.argtypes, engine.mge_sync.restype = [worker, ticket], None
    engine.mge_stop.argtypes, engine.mge_stop.restype = [worker, ctypes.POINTER(Truth)], None
    return engine


class Trainer:
    def __init__(self, engine):
        self.engine = engine
        self.worker = engine.mge_start()
        self.waited_s = collections.Counter()

    @contextlib.contextmanager
    def waiting(self, place):
        start = time.monotonic()
        yield
        self.waited_s[place] += time.monotonic() - start

    def loss_of(self, ticket):
        with self.waiting("loss_of"):
            self.engine.mge_sync(self.worker, ticket)
        return 1.0 / ticket

    def numpy_of(self, ticket):
        with self.waiting("numpy_of"):
            self.engine.mge_sync(self.worker, ticket)
        return [ticket]

    def metrics(self, ticket):
        with self.waiting("metrics"):
            self.engine.mge_sync(self.worker, ticket)
        return {"accuracy": 1.0 - 1.0 / ticket}

    def step(self, number):
        load_batch()
        self.engine.mge_conv(self.worker)
        loss = self.engine.mge_topk(self.worker)
        self.engine.mge_topk(self.worker)
        scores = self.engine.mge_topk(self.worker)
        augment()
        self.loss_of(loss)
        self.numpy_of(scores)
        if number % 2 == 0:
            self.metrics(self.engine.mge_topk(self.worker))

    def stop(self):
        truth = Truth()
        self.engine.mge_stop(self.worker, ctypes.byref(truth))
        return truth


def burn(cpu_seconds):
    end = time.thread_time() + cpu_seconds
    value = 1
    while time.thread_time() < end:
        for _ in range(200):
            value = value * 1103515245 % 2147483647
    return value


def load_batch():
    return burn(LOAD_CPU_S)


def augment():
    return burn(AUGMENT_CPU_S)


def train(trainer, seconds):
    """Returns the number of steps made in about SECONDS."""
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        trainer.step(number)
        number += 1
    return number


def shares(trainer, truth, main_s):
    waits = {place: waited / main_s for place, waited in trainer.waited_s.items()}
    parts = ("idle", "conv", "topk", "ioctl")
    return {
        "main": {"seconds": main_s, "waiting": sum(waits.values()), **waits},
        "mge-worker": {"seconds": truth.alive / 1e9,
                       **{p: getattr(truth, p) / truth.alive for p in parts}},
        "device_calls": truth.device_calls,
        "eintr": truth.eintr,
    }


def print_shares(true):
    main, worker = true["main"], true["mge-worker"]
    print(f"main        {main['waiting']:.0%} waiting for the worker: numpy_of "
          f"{main.get('numpy_of', 0):.0%}, "
          f"loss_of {main.get('loss_of', 0):.0%}, metrics {main.get('metrics', 0):.0%}")
    print(f"mge-worker  {worker['topk']:.0%} topk (ioctl {worker['ioctl']:.0%}), "
          f"{worker['conv']:.0%} conv, "
          f"{worker['idle']:.0%} waiting for work")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=12,
                        help="how long to train (default: %(default)s)")
    parser.add_argument("--truth", action="store_true",
                        help="print the true shares as one line of JSON")
    options = parser.parse_args()
    engine = load_engine()
    error = engine.mge_check_device()
    if error:
        print(f"train.py: no seccomp notifications here ({os.strerror(error)}): the demo needs "
              f"them to block in "
              "ioctl without a GPU", file=sys.stderr)
        return EXIT_SKIPPED
    print(f"train.py: pid {os.getpid()}, training for {options.seconds:g} s", flush=True)
    start = time.monotonic()
    trainer = Trainer(engine)
    steps = train(trainer, options.seconds)
    main_s = time.monotonic() - start
    true = shares(trainer, trainer.stop(), main_s)
    print(f"train.py: {steps} steps in {main_s:.1f} s")
    if options.truth:
        print(json.dumps(true))
    else:
        print_shares(true)
    return 0


if __name__ == "__main__":
    sys.exit(main())
