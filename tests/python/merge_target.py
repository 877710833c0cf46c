"""A target for merge.py: each thread says where it is and blocks in read(0) on that very line.

Prints `F tid name line` per Python frame, innermost first,
then `E tid`; the main thread prints `threads count`.
"""
import ctypes
import os
import sys
import threading

LIBC = ctypes.CDLL(None)
SYS_GETTID = 186
DEPTH = 20
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def truth():
    """What this thread runs, without this function."""
    tid = LIBC.syscall(SYS_GETTID)
    frame, lines = sys._getframe(1), []
    while frame:
        code = frame.f_code
        lines.append("F %d %s %d" % (tid, getattr(code, "co_qualname", code.co_name).replace(
            " ", "_"), frame.f_lineno))
        frame = frame.f_back
    os.write(1, ("\n".join(lines + ["E %d" % tid]) + "\n").encode())


def block(): truth(), os.read(0, 1)


def recurse(n):
    return recurse(n - 1) if n else block()


def compare(a, b):
    recurse(2)
    return 0


def sort(compare):
    two = (ctypes.c_int * 2)(2, 1)
    LIBC.qsort(two, ctypes.c_size_t(2), ctypes.c_size_t(4), COMPARE(compare))


def in_qsort():
    sort(compare)


def sort_again(a, b):
    sort(compare)
    return 0


def in_qsorts_three_deep():
    def deepest(a, b):
        sort(sort_again)
        return 0
    sort(deepest)


def generator(n):
    yield n
    recurse(n)
    yield n


def delegating(n):
    yield from generator(n)


def in_generator():
    for _ in delegating(3):
        pass


class Made:
    def __init__(self):
        sorted([1, 2], key=lambda _: recurse(1))

    def __eq__(self, other):
        Made()


def in_slots():
    [object.__new__(Made)] == [object.__new__(Made)]


def in_exec():
    exec("max([1], key=lambda _: recurse(1))", globals())


def main():
    LIBC.prctl(0x59616d61, ctypes.c_ulong(-1))  # PR_SET_PTRACER, PR_SET_PTRACER_ANY
    work = [in_qsort, in_qsorts_three_deep, in_generator, in_slots, in_exec]
    print("threads %d" % (len(work) + 1), flush=True)
    for w in work:
        threading.Thread(target=w, daemon=True).start()
    recurse(DEPTH)


main()
