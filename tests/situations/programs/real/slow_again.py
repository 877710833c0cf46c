"""Slow code, for slow.py, that does again what it has done: looks for it, copies, reads, makes."""
import random


def members():
    import io
    import zipfile

    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiles", bytes(random.choices(b"abcdefgh", k=2000000)))
    tiles = zipfile.ZipFile(kept).open("tiles")
    whole = io.BytesIO(zipfile.ZipFile(kept).read("tiles"))

    def read(file):
        file.seek(random.randrange(1900000))
        return file.read(1000)

    return lambda: read(tiles), lambda: read(whole)


def timers():
    import sched

    timetable = sched.scheduler(lambda: 0, lambda _: None)
    events = [timetable.enter(number, 1, print) for number in range(2000)]
    dead = set()

    def slow():
        at = random.randrange(len(events))
        timetable.cancel(events[at])
        events[at] = timetable.enter(at, 1, print)

    def quick():
        dead.add(random.randrange(len(events)))

    return slow, quick


def slices():
    received = bytes(1 << 20)

    def slow():
        rest = received
        for _ in range(100):
            rest = rest[23:]

    def quick():
        rest = memoryview(received)
        for _ in range(100):
            rest = rest[23:]

    return slow, quick


def cached_calls():
    import functools
    import hashlib

    def describe(number):
        return hashlib.pbkdf2_hmac("sha1", b"model", bytes(number), 50).hex()

    small, large = (functools.lru_cache(maxsize=places)(describe) for places in (16, 64))

    def look_up(described):
        for number in range(50):
            described(number)

    return lambda: look_up(small), lambda: look_up(large)


def choices():
    import numpy

    old, new = numpy.random.RandomState(1), numpy.random.default_rng(1)

    def slow():
        return old.choice(300000, size=24, replace=False)

    def quick():
        return new.choice(300000, size=24, replace=False)

    return slow, quick


def views():
    import networkx

    network = networkx.path_graph(2000).subgraph(range(1000))
    copied = network.copy()

    def slow():
        return len(network)

    def quick():
        return len(copied)

    return slow, quick


def broken_links():
    import traceback

    kept = OSError("the link is broken")

    def fail(error, say):
        try:
            raise error
        except OSError as caught:
            return say(caught)

    def slow():
        return fail(kept, traceback.format_exception)

    def quick():
        return fail(OSError("the link is broken"), str)

    return slow, quick


def converters():
    import ctypes
    import itertools
    import sys

    libc = ctypes.CDLL(None)
    libc.iconv_open.restype = ctypes.c_void_p
    libc.iconv_close.argtypes = [ctypes.c_void_p]
    names = (b"KOI8-R", b"BIG5", b"EUC-JP", b"ISO-8859-2", b"CP1250", b"SHIFT_JIS")
    # While one is kept its converter stays loaded.
    twin = "--twin" in sys.argv
    kept = itertools.cycle([libc.iconv_open(b"UTF-8", name) for name in names if twin])
    asked = itertools.cycle(names)

    def slow():
        libc.iconv_close(libc.iconv_open(b"UTF-8", next(asked)))

    def quick():
        libc.iconv(ctypes.c_void_p(next(kept)), None, None, None, None)

    return slow, quick
