"""Threads that take Locks and RLocks of Python's at random and keep a record of who has which: is
each holder that wallspy tells the right one?  And is it told where CPython lets it be known: of an
RLock, and of a Lock in a `with` statement?  Runs on 3.6 and later.

usage: held_locks.py WALLSPY (or, as the target: held_locks.py target SEED)"""

import collections
import contextlib
import ctypes
import json
import os
import queue
import random
import sys
import threading
import time

from support.chance import seeded
from support.lock_record import count_wrong, found, judge, parse_claims, parse_records
from support.measure import measured
from support.outcome import end_with
from support.targets import Target
from support.wallspy import succeed

SYS_GETTID = 186
TARGET = "target"
DUMPS, THREADS = 80, 3
# A kind of lock of which so many of its holders are lost is found, and all kinds together.
CATCHES, CATCHES_OF_ALL = 0.3, 0.2
RECORDS, WAITERS = [], []
ENDS = threading.Event()


def now_ns():
    return int(time.monotonic() * 1e9)


class Slow(queue.Queue):
    """A queue that takes its time, and forgets what it is given."""

    def __init__(self, station):
        super().__init__()
        self.station = station

    def _put(self, item):
        self.station.hold(*item)


class Owner:
    """Has the lock while it is entered."""

    def __init__(self, lock):
        self.mutex = lock

    def __enter__(self):
        self.mutex.acquire()

    def __exit__(self, *_):
        self.mutex.release()


class Bystander:
    """Knows the lock, and does not take it when it is entered."""

    def __init__(self, lock):
        self._lock = lock

    def __enter__(self):
        return self

    def __exit__(self, *_):
        del self._lock


class Station:
    """A lock, and the way in which all threads take it.  Each says when it asked, when it had it,
    and when it began to give it up."""

    def __init__(self, number, kind, seed):
        self.seed = seed + number * THREADS
        self.number, self.kind = number, kind
        self.lock = threading.RLock() if kind.startswith("rlock") else threading.Lock()
        self.condition = threading.Condition(self.lock)
        self.queue = Slow(self)

    def work(self, turn):
        tid = ctypes.CDLL(None).syscall(SYS_GETTID)
        WAITERS.append((self.number, tid))
        chance = random.Random(self.seed + turn)
        while not ENDS.is_set():
            record = [self.number, tid, now_ns()]
            take = getattr(self, "take_" + self.kind.replace("-", "_"))
            take(record, chance.uniform(0.005, 0.05))
            RECORDS.append(record + [now_ns()])
            time.sleep(chance.uniform(0.001, 0.01))

    def hold(self, record, seconds):
        record.append(now_ns())
        time.sleep(seconds)
        record.append(now_ns())

    def take_lock(self, record, seconds):
        with self.lock:
            self.hold(record, seconds)

    def take_lock_nested(self, record, seconds):
        for _ in range(1):
            try:
                with self.lock:
                    for _ in range(1):
                        self.hold(record, seconds)
            except ValueError:
                pass

    take_rlock = take_lock

    def take_rlock_called(self, record, seconds):
        self.lock.acquire()
        with self.lock:
            self.hold(record, seconds)
        self.lock.release()

    def take_lock_called(self, record, seconds):
        self.lock.acquire()
        self.hold(record, seconds)
        self.lock.release()

    def take_lock_released(self, record, seconds):
        """Has it for half of the statement only."""
        with self.lock:
            self.hold(record, seconds / 2)
            self.lock.release()
            time.sleep(seconds)
            self.lock.acquire()

    def take_lock_condition(self, record, seconds):
        """Gives it up inside of the statement, in a function of threading.py's."""
        with self.lock:
            self.hold(record, seconds / 2)
            self.condition.wait(seconds)

    def take_lock_in_condition(self, record, seconds):
        with self.condition:
            self.hold(record, seconds)

    def take_condition_waits(self, record, seconds):
        """Gives it up for a while, and then has it again: only what comes before is recorded."""
        with self.condition:
            self.hold(record, seconds / 2)
            self.condition.wait(seconds)
            time.sleep(seconds / 2)

    @contextlib.contextmanager
    def managed(self):
        with self.lock:
            yield

    @contextlib.contextmanager
    def managed_condition(self):
        with contextlib.suppress(ValueError), self.condition:
            yield
            self.condition.notify_all()

    @contextlib.contextmanager
    def managed_twice(self):
        with self.managed() as nothing:
            yield nothing

    def take_lock_managed(self, record, seconds):
        with self.managed():
            self.hold(record, seconds)

    def take_lock_managed_twice(self, record, seconds):
        with self.managed_twice():
            self.hold(record, seconds)

    def take_condition_managed(self, record, seconds):
        with self.managed_condition():
            self.hold(record, seconds)

    def take_lock_of_owner(self, record, seconds):
        with Owner(self.lock):
            self.hold(record, seconds)

    def take_lock_beside(self, record, seconds):
        """Is in a statement of an object that only knows the lock, and takes it elsewhere."""
        with Bystander(self.lock):
            time.sleep(seconds)
        self.take_lock_called(record, seconds)

    def take_queue(self, record, seconds):
        """A queue's lock, which put() has while it calls _put()."""
        self.queue.put((record, seconds))


KINDS = ["lock", "lock-nested", "rlock", "rlock-called", "lock-called", "lock-released",
         "lock-condition", "lock-in-condition", "condition-waits", "queue", "lock-managed",
         "lock-managed-twice", "condition-managed", "lock-of-owner", "lock-beside"]


def run_target(seed):
    stations = [Station(number, kind, seed) for number, kind in enumerate(KINDS)]
    threads = [threading.Thread(target=station.work, args=(turn,)) for station in stations
               for turn in range(THREADS)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    ENDS.set()
    for thread in threads:
        thread.join()
    for station in stations:
        print("kind", station.number, station.kind)
    for waiter in WAITERS:
        print("waiter", *waiter)
    for record in RECORDS:
        print("held", *record)


def sure_kinds():
    with_lock = ["lock", "lock-nested", "lock-in-condition", "queue", "lock-managed",
                 "lock-managed-twice", "condition-managed", "lock-of-owner"]
    return ["rlock", "rlock-called", *with_lock]


class NotSo(Exception):
    """Which no load of the machine excuses."""


def record_once(wallspy):
    seed = seeded().randrange(1 << 32)
    trace = ""
    with Target([sys.executable, os.path.abspath(__file__), TARGET, seed], "ready") as target:
        for _ in range(DUMPS):
            ran = succeed([wallspy, "dump", "--now", "--json", "-p", target.pid],
                          environment={"WALLSPY_TRACE": "wait"})
            if json.loads(ran.stdout)["circles"]:
                raise NotSo(ran.stdout)
            trace += ran.stderr
        target.say("\n")
        rows = judge(parse_claims(trace), parse_records(target.rest()), int)
    if count_wrong(rows):
        raise NotSo("a holder is wrong")
    sure = {kind: rows[kind] for kind in sure_kinds()}
    together = sum(sure.values(), collections.Counter())
    return {**found(sure, CATCHES), **found({"all": together}, CATCHES_OF_ALL)}


def main(wallspy):
    return measured(lambda: record_once(wallspy))


if __name__ == "__main__":
    if sys.argv[1] == TARGET:
        run_target(int(sys.argv[2]))
    else:
        end_with(main, sys.argv[1])
