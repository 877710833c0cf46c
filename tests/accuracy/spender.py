"""Spends its time in places that it knows, and says at the end how much it spent in each.

usage: spender.py LIBSPEND SEED SECONDS [one|three]

Prints {thread: {place: [seconds, visits]}} as JSON.  The order of places and the length of each
visit come from SEED, and so do the shares.  Runs on CPython 3.8 and later.
"""
import ctypes
import json
import random
import sys
import threading
import time

# Around the 10 ms between samples, so that some visits are seen not at all and some several times.
SHORTEST_S, LONGEST_S = 0.004, 0.060
PR_SET_NAME = 15  # linux/prctl.h
C_PLACES = ["spend_computing", "spend_in_vdso", "spend_sleeping"]


def python_loop(seconds):
    start = time.monotonic()
    value = 1
    while time.monotonic() - start < seconds:
        for _ in range(100):
            value = value * 1103515245 % 2147483647
    return time.monotonic() - start


def python_sleep(seconds):
    start = time.monotonic()
    time.sleep(seconds)
    return time.monotonic() - start


def load_places(library):
    spend = ctypes.CDLL(library)
    places = {"python_loop": python_loop, "python_sleep": python_sleep}
    for name in C_PLACES:
        function = getattr(spend, name)
        function.argtypes, function.restype = [ctypes.c_int64], ctypes.c_int64
        places[name] = lambda seconds, function=function: function(int(seconds * 1e9)) / 1e9
    return spend, places


def follow_plan(seed, places, seconds, ret):
    """Visits PLACES at random for SECONDS, never the same twice in a row; counts them in RET."""
    chance = random.Random(seed)
    likely = {name: chance.uniform(0.3, 1) for name in sorted(places)}
    ret.update((name, [0, 0]) for name in places)
    last = None
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        names = [name for name in likely if name != last]
        last = chance.choices(names, [likely[name] for name in names])[0]
        spent = ret[last]
        spent[0] += places[last](chance.uniform(SHORTEST_S, LONGEST_S))
        spent[1] += 1


def named_thread(*args):
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"second")
    follow_plan(*args)


class PureThread:
    """A thread of LIBSPEND that never runs Python."""

    def __init__(self, spend, seed, seconds):
        self.spend = spend
        spend.spend_thread_start.argtypes = [ctypes.c_uint32] + 3 * [ctypes.c_int64]
        spend.spend_thread_start.restype = ctypes.c_void_p
        spend.spend_thread_join.argtypes = [ctypes.c_void_p] + 2 * [ctypes.POINTER(ctypes.c_int64)]
        spend.spend_thread_join.restype = None
        self.thread = spend.spend_thread_start(seed,
                                               *(int(s * 1e9)
                                                 for s in (seconds, SHORTEST_S, LONGEST_S)))

    def join(self):
        spent, visits = (ctypes.c_int64 * 3)(), (ctypes.c_int64 * 3)()
        self.spend.spend_thread_join(self.thread, spent, visits)
        return {name: [ns / 1e9, n] for name, ns, n in zip(C_PLACES, spent, visits)}


def main():
    library, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    spend, places = load_places(library)
    truth = {"main": {}}
    if sys.argv[4:] == ["three"]:
        truth["second"] = {}
        native = PureThread(spend, seed + 2, seconds)
        second = threading.Thread(target=named_thread,
                                  args=(seed + 1, places, seconds, truth["second"]))
        second.start()
        follow_plan(seed, places, seconds, truth["main"])
        second.join()
        truth["pure-c++"] = native.join()
    else:
        follow_plan(seed, places, seconds, truth["main"])
    print(json.dumps(truth))


if __name__ == "__main__":
    main()
