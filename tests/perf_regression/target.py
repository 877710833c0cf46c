"""Thirty Python calls, a third of them through C, and then sleep: what cost.py takes a snapshot
of."""
import functools
import time


def straight(depth):
    if depth:
        return through_c(depth - 1) if depth % 3 == 0 else straight(depth - 1)
    print("ready", flush=True)
    time.sleep(600)


def through_c(depth):
    return functools.reduce(lambda _, d: straight(d), [None, depth])


straight(20)
