"""Prints sheets with a pool of two.  The culprit: a worker is killed at its first sheet, as the
kernel does when memory is short; the pool makes another, and map() waits for a sheet that never
comes.  The twin's workers live."""
import multiprocessing
import os
import signal
import time

from steady import Steady

run = Steady()


def print_sheet(number):
    if number == 3 and not run.twin:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return number


def print_all(pool):
    return pool.map(print_sheet, range(8), chunksize=1)


def main():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        if not run.twin:
            pool.map_async(print_sheet, range(4), chunksize=1)  # so that it hangs from the start
            time.sleep(0.5)
        run.ready()
        while run.goes_on():
            print_all(pool)


main()
