"""Weaves once with a library that has OpenMP threads, then has two processes weave.  The culprit:
they are forked, so they have the library's memory and none of its threads, for which they wait; the
twin's are spawned.  Arguments: SECONDS [--twin] LIBRARY."""
import ctypes
import multiprocessing
import sys
import time

from steady import Steady


def weave_cloth(rows):
    library = ctypes.CDLL(sys.argv[-1])
    library.weave.argtypes, library.weave.restype = [ctypes.c_long], ctypes.c_double
    return library.weave(rows)


def main():
    run = Steady()
    weave_cloth(1000000)
    context = multiprocessing.get_context("spawn" if run.twin else "fork")
    run.ready()
    while run.goes_on():
        crew = [context.Process(target=weave_cloth, args=(1000000,), name=f"loom-{n}",
                                daemon=True) for n in range(2)]
        for loom in crew:
            loom.start()
        for loom in crew:
            loom.join()
        time.sleep(0.2)


if __name__ == "__main__":
    main()
