"""Threads that wait for each other for ever: for two RLocks; for two Locks in `with` statements
(from 3.11 on); in Thread.join(); one for a Lock of its own (from 3.11 on); one for the GIL, which
the other keeps while it waits in C for a mutex of the first.
Do `dump` and `record` say so, and nothing of the kind of threads that only wait?

usage: deadlocks.py WALLSPY (with --scene NAME: the target)"""

import ctypes
import os
import re
import sys
import threading
import time

from support.outcome import end_with
from support.processes import is_in_call, threads, wait_until
from support.targets import Target
from support.wallspy import call, dump_json

MUTEX = ctypes.create_string_buffer(64)
SYS_NANOSLEEP, SYS_FUTEX, SYS_CLOCK_NANOSLEEP = 35, 202, 230


def cross(first, second):
    here = []

    # Nothing named `wait`, which might give a lock up.
    def await_both():
        here.append(1)
        while len(here) < 2:
            time.sleep(0.001)

    def left():
        with first:
            await_both()
            with second:
                pass

    def right():
        with second:
            await_both()
            with first:
                pass

    return left, right


def keep_gil():
    locked = threading.Event()

    def left():
        ctypes.CDLL(None).pthread_mutex_lock(MUTEX)
        locked.set()
        while True:
            ctypes.CDLL(None).usleep(1000)

    def right():
        locked.wait()
        os.read(0, 1)  # when main waits in C, and needs the GIL no more
        ctypes.PyDLL(None).pthread_mutex_lock(MUTEX)

    return left, right


THREADS = []


def join_each_other():
    both = threading.Barrier(2)

    def left():
        both.wait()
        THREADS[1].join()

    def right():
        both.wait()
        THREADS[0].join()

    return left, right


def own_lock():
    lock = threading.Lock()

    def takes_it_again():
        with lock:
            with lock:
                pass

    return (takes_it_again,)


def only_wait():
    lock = threading.RLock()
    given_up = threading.Lock()
    condition = threading.Condition(given_up)
    is_within = threading.Event()

    # Is in `with` of a lock that it has given up, and waits to get back.
    def waits_again():
        with given_up:
            is_within.set()
            condition.wait()

    def has_what_was_given_up():
        is_within.wait()
        given_up.acquire()
        condition.notify()
        time.sleep(60)

    def left():
        with lock:
            time.sleep(60)

    def right():
        while not lock.acquire(True, 0.1):
            pass

    def joins_for_long():
        THREADS[1].join(60)

    return left, right, joins_for_long, waits_again, has_what_was_given_up


SCENES = {
    "rlocks": lambda: cross(threading.RLock(), threading.RLock()),
    "locks": lambda: cross(threading.Lock(), threading.Lock()),
    "own lock": own_lock,
    "joins": join_each_other,
    "gil": keep_gil,
    "none": only_wait,
}


def run_target(scene):
    for work in SCENES[scene]():
        THREADS.append(threading.Thread(target=work, daemon=True))
    for thread in THREADS:
        thread.start()
    os.write(1, b"ready\n")
    ctypes.CDLL(None).sleep(60)


def said_of(wallspy, pid):
    """How many threads of a deadlock dump and record name."""
    circles = [c for c in dump_json(wallspy, pid)["circles"] if c["deadlock"]]
    answer = call([wallspy, "-p", pid, "-d", "3", "-o", "none"])
    text = " ".join(answer.stderr.split())
    told = re.search(r"Deadlock for [\d.]+ s: (.*?(?:\d|to end|itself))\. ", text)
    print(text if not told else told.group(0))
    held = re.findall(" held by | to end", told.group(1)) if told else []
    return sum(len(c["tids"]) for c in circles), len(held)


def wait_until_stuck(pid, n):
    """Until N of its threads wait in futex(2), and have in three looks."""
    looks = []

    def is_stuck():
        looks.append(sum(is_in_call(pid, tid, SYS_FUTEX) for tid in threads(pid)))
        return looks[-3:] == [n] * 3

    wait_until(is_stuck, what=f"the threads of {pid} are not where they should be")


def main(wallspy):
    good = True
    for scene in SCENES:
        with Target([sys.executable, os.path.abspath(__file__), "--scene", scene],
                    "ready") as target:
            wait_until(lambda pid=target.pid: is_in_call(pid, pid, SYS_NANOSLEEP,
                                                         SYS_CLOCK_NANOSLEEP))
            target.say("x")
            wait_until_stuck(target.pid, {"none": 3, "own lock": 1}.get(scene, 2))
            found = said_of(wallspy, target.pid)
        print(scene, found)
        good &= found == {"none": (0, 0), "own lock": (1, 1)}.get(scene, (2, 2))
    return good


if sys.argv[1] == "--scene":
    run_target(sys.argv[2])
else:
    end_with(main, sys.argv[1])
