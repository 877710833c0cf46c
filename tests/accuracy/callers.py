"""Calls Python from Python in as many ways as there are, over and over.

usage: callers.py SECONDS

Prints a line when it begins.  All the time passes in work() or on the way to and from it.  CALLS
says which function of this file may be directly below which other.  An object's end comes when the
frame that held it is gone already.  Runs on CPython 3.8 and later.
"""
import asyncio
import ctypes
import functools
import re
import sys
import time

DEPTH = 10
CALLS = {
    None: {"<module>"},
    "<module>": {"main"},
    "main": {"in_generators", "in_coroutines", "in_asyncio", "in_qsort", "in_reduce", "in_re",
             "in_sorted", "in_exceptions", "in_comprehension", "in_methods", "Item.__del__"},
    "in_generators": {"delegate", "work"},
    "delegate": {"produce"},
    "produce": {"work"},
    "in_coroutines": {"outer"},
    "in_asyncio": {"many", "outer"},
    "many": {"outer", "work"},
    "outer": {"inner", "work"},
    "inner": {"work", "Pause.__await__"},
    "Pause.__await__": {"work"},
    "in_qsort": {"compare"},
    "compare": {"work"},
    "in_reduce": {"combine"},
    "combine": {"work"},
    "in_re": {"replace"},
    "replace": {"work"},
    "in_sorted": {"key_of"},
    "key_of": {"work"},
    "in_exceptions": {"fall", "work"},
    "fall": {"fall", "work"},
    "in_comprehension": {"in_comprehension.<locals>.<listcomp>", "work"},
    "in_comprehension.<locals>.<listcomp>": {"work"},  # no frame of its own from 3.12 on
    "in_methods": {"Item.__getattr__", "Item.__lt__", "Item.__enter__", "Item.__exit__",
                   "Item.__del__"},
    "Item.__getattr__": {"work"},
    "Item.__lt__": {"work"},
    "Item.__enter__": {"work"},
    "Item.__exit__": {"work"},
    "Item.__del__": {"work"},
    "work": set(),
}
# Library code in Python may run between these and what is below them.
USE_LIBRARY = {None, "<module>", "main", "in_asyncio", "many"}
# The native function that must lie between the two.
BETWEEN = {("in_qsort", "compare"): "qsort_r"}


def work():
    value = 1
    for i in range(40):
        value = (value * 31 + i) % 1000003
    return value


def produce(n):
    for i in range(n):
        work()
        yield i


def delegate(n):
    yield from produce(n)


def in_generators():
    for _ in delegate(20):
        work()


class Pause:
    """What asyncio.sleep(0) does, in this file."""

    def __await__(self):
        work()
        yield
        work()


async def inner():
    work()
    await Pause()
    work()


async def outer():
    await inner()
    work()
    await inner()


def in_coroutines():
    coroutine = outer()
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


async def many():
    await asyncio.gather(outer(), outer(), outer())
    work()


def in_asyncio(loop):
    loop.run_until_complete(many())


COMPARISON = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                              ctypes.POINTER(ctypes.c_int))


@COMPARISON
def compare(a, b):
    work()
    return a[0] - b[0]


def in_qsort(libc=ctypes.CDLL(None)):
    values = (ctypes.c_int * 12)(*range(12, 0, -1))
    libc.qsort(values, ctypes.c_size_t(len(values)), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int)),
               compare)


def combine(a, b):
    return a + b + work()


def in_reduce():
    functools.reduce(combine, range(20))


def replace(match):
    work()
    return match.group(0)


def in_re(pattern=re.compile("a")):
    pattern.sub(replace, 20 * "ab")


def key_of(value):
    work()
    return -value


def in_sorted():
    sorted(range(20), key=key_of)


def fall(depth):
    try:
        if depth == 0:
            raise ValueError(work())
        fall(depth - 1)
    finally:
        work()


def in_exceptions():
    try:
        fall(DEPTH)
    except ValueError:
        work()


def in_comprehension():
    return [work() for _ in range(20)]


class Item:
    def __getattr__(self, name):
        return work()

    def __lt__(self, other):
        return work() > 0

    def __enter__(self):
        work()

    def __exit__(self, *unused):
        work()

    def __del__(self):
        work()


def in_methods():
    item, other = Item(), Item()
    for _ in range(3):
        if item < other:
            with item:
                pass
        _ = item.anything


def main():
    loop = asyncio.new_event_loop()
    print("ready", flush=True)
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        in_generators()
        in_coroutines()
        in_asyncio(loop)
        in_qsort()
        in_reduce()
        in_re()
        in_sorted()
        in_exceptions()
        in_comprehension()
        in_methods()
    loop.close()


if __name__ == "__main__":
    main()
