"""Thread states of which the thread that they are told by is not the one that runs them: made in
one thread and run in another (up to CPython 3.12), or left behind by one that ended in C.  Runs
wallspy on itself.

usage: foreign_thread_states.py WALLSPY (or, as the target: foreign_thread_states.py
made|busy|left)"""
import ctypes
import sys
import threading
import time

from support.targets import Target
from support.wallspy import dump_threads, record_folded

MISSING = "[Python frames missing]"
LIBC = ctypes.CDLL(None)
COUNTS_RUNS = int(open("/proc/self/schedstat").read().split()[2]) > 0
CODES = {
    "made": "import time\ndef inside(): time.sleep(1000)\ninside()",
    "busy": "import time\ndef inside():\n    while True:\n        time.sleep(.01)\n        "
            "sum(range(200000))\ninside()",
}


# ---- the target ----

def made(code):
    """A sub-interpreter, made in one thread and run in another; and one whose maker is gone."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    subs = []

    def maker(ends=False):
        subs.append(interpreters.create())
        ready.set()
        if not ends:
            time.sleep(1000)

    def runner(sub):
        interpreters.run_string(sub, code)

    for ends in (True, False):
        ready = threading.Event()
        thread = threading.Thread(target=maker, args=(ends,), daemon=True)
        thread.start()
        ready.wait()
        if ends:
            thread.join()
    for sub in subs:
        threading.Thread(target=runner, args=(sub,), daemon=True).start()


def left():
    """A thread that ends below Python's frames; the next one, which is C's, gets its pthread_t."""
    start_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    LIBC.pthread_create.argtypes = [ctypes.c_void_p] * 4

    def start(function):
        thread = ctypes.c_ulong()
        LIBC.pthread_create(ctypes.byref(thread), None, ctypes.cast(function, ctypes.c_void_p),
                            None)
        return thread

    def ends(_):
        LIBC.pthread_exit(None)

    function = start_type(ends)
    first = start(function)
    LIBC.pthread_join(first, None)
    assert start(LIBC.pause).value == first.value
    time.sleep(0.1)


def target(kind):
    left() if kind == "left" else made(CODES[kind])
    time.sleep(0.2)
    print("ready", flush=True)
    time.sleep(1000)


# ---- the comparison ----

def start(kind):
    return Target([sys.executable, __file__, kind], "ready")


def threads_of(wallspy, kind):
    with start(kind) as process:
        threads = dump_threads(wallspy, process.pid, "-q")
    for thread in threads:
        names = [frame["name"].split(".")[-1] for frame in thread["frames"]]
        print(kind, "complete" if thread["complete"] else "not complete", *names)
        yield names, thread["complete"]


def check_made(threads):
    threads = list(threads)
    makers = [(names, complete) for names, complete in threads if "maker" in names]
    runners = [(names, complete) for names, complete in threads if "runner" in names]
    assert len(makers) == 1 and len(runners) == 2
    for names, complete in makers:
        assert complete and "inside" not in names
    for names, complete in runners:
        assert ("inside" in names) == complete and (MISSING in names) != complete
        # then nothing proves that what is read later is still true
        assert complete or not COUNTS_RUNS


def check_busy(wallspy):
    """Once it was found, it is there whenever its thread is held, too."""
    with start("busy") as process:
        folded, _ = record_folded(wallspy, ["-q", "-d", "2", "-r", "200"], ["-p", process.pid])
    found = [(";".join(stack), count) for stack, count in folded]
    stacks = [(stack, count) for stack, count in found if "runner" in stack]
    assert stacks
    whole = sum(count for stack, count in stacks if "inside" in stack)
    print("busy: %d of %d" % (whole, sum(count for _, count in stacks)))
    assert not any("inside" in stack and ("maker" in stack or MISSING in stack)
                   for stack, _ in found)
    assert whole > sum(count for _, count in stacks) * .85 or not COUNTS_RUNS


def check_left(threads):
    threads = [(names, complete) for names, complete in threads if "pause [blocked]" in names]
    assert len(threads) == 1
    for names, complete in threads:
        assert complete and "ends" not in names


def main():
    if sys.version_info >= (3, 8):
        check_made(threads_of(sys.argv[1], "made"))
        check_busy(sys.argv[1])
    check_left(threads_of(sys.argv[1], "left"))


if __name__ == "__main__":
    target(sys.argv[1]) if sys.argv[1] in ("made", "busy", "left") else main()
