"""A target for walk.py: every thread says where it is and blocks in read(0) on that very line.

Each prints, innermost first, `F tid name line` per frame, then `E tid`; the main thread prints
`threads count`.  Runs on 3.6 and later.
"""
import functools
import os
import sys
import threading

try:
    import ctypes
    LIBC = ctypes.CDLL(None)
except ImportError:  # an interpreter that exports nothing cannot load it
    ctypes = None
try:
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
    else:
        import _xxsubinterpreters as interpreters
except ImportError:  # 3.8 and later have it
    interpreters = None
SYS_GETTID = 186
DEPTH = 40


def gettid():
    if hasattr(threading, "get_native_id"):
        return threading.get_native_id()
    return LIBC.syscall(SYS_GETTID)


def truth(end=True):
    """What this thread runs, without this function."""
    tid = gettid()
    frame, lines = sys._getframe(1), []
    while frame:
        lines.append("F %d %s %d" % (tid, frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    if end:
        lines.append("E %d" % tid)
    os.write(1, ("\n".join(lines) + "\n").encode())


def block(): truth(), os.read(0, 1)


def recurse(n):
    return recurse(n - 1) if n else block()


def generator(n):
    for i in range(n):
        yield i
    recurse(3)
    yield n


def delegating(n):
    yield from generator(n)


def in_generators():
    for _ in delegating(100):
        pass


def in_callbacks():
    """C in between: map, sorted's key, functools.reduce."""
    list(map(lambda _: sorted([1, 2], key=lambda _: functools.reduce(lambda a, b: recurse(2),
                                                                       [1, 2])), [1]))


class Made:
    def __init__(self, deep):
        self.deep = recurse(2) if deep else None

    def __getattr__(self, name):
        return recurse(2)

    @property
    def worth(self):
        return recurse(1)


def in_init():
    """From 3.13 on a specialised call puts a helper frame below __init__."""
    for i in range(200):
        Made(i == 199)


def in_slots():
    made = Made(False)
    for i in range(200):
        made.missing if i == 199 else made.deep


def in_property():
    made = Made(False)
    made.worth


class Awaiting:
    def __await__(self):
        yield from generator(0)


async def inner():
    await Awaiting()


async def outer():
    async with Context():
        await inner()


class Context:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None


def in_coroutines():
    outer().send(None)


def in_exec():
    """Code with a multi-line call, a comprehension and a with statement."""
    exec("def f(a, b):\n"
         "    with open('/dev/null'):\n"
         "        return [\n"
         "            b(x)\n"
         "            for x in range(\n"
         "                1)]\n"
         "f(1,\n"
         "  lambda x: recurse(1))\n", globals())


def in_ctypes():
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: recurse(1) or 0)
    callback()


IN_SUB = """
import os, sys
def truth():
    frame, lines = sys._getframe(1), []
    while frame:
        lines.append("F TID %s %d" % (frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    os.write(1, ("\\n".join(lines + ["E TID"]) + "\\n").encode())
def in_sub(n): return in_sub(n - 1) if n else (truth(), os.read(0, 1))
in_sub(3)
"""


def in_sub_interpreter():
    """Two thread states on one thread."""
    code = IN_SUB.replace("TID", str(gettid()))
    sub = interpreters.create()
    truth(end=False), interpreters.run_string(sub, code)


def main():
    work = [in_generators, in_callbacks, in_init, in_slots, in_property, in_coroutines, in_exec,
            functools.partial(recurse, DEPTH)]
    if ctypes:
        LIBC.prctl(0x59616d61, ctypes.c_ulong(-1))  # PR_SET_PTRACER, PR_SET_PTRACER_ANY
        work.append(in_ctypes)
    if interpreters:
        work.append(in_sub_interpreter)
    print("threads %d" % (len(work) + 1), flush=True)
    for w in work:
        threading.Thread(target=w, daemon=True).start()
    recurse(DEPTH)


main()
