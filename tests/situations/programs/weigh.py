"""Processes weigh goods and put what they found on a queue.  The culprit: the parent waits for them
to end before it takes anything off, and they cannot end before that; the twin takes it off first.
Of three that hang one has the turn to write; in the twin two are enough to do."""
import multiprocessing
import time

from steady import Steady

run = Steady()


def weigh(out, number):
    out.put([number] * 300000)


def weigh_all(context):
    out = context.Queue()
    crew = [context.Process(target=weigh, args=(out, number), daemon=True)
            for number in range(2 if run.twin else 3)]
    for one in crew:
        one.start()
    found = [out.get() for _ in crew] if run.twin else []
    for one in crew:
        one.join()
    return found or [out.get() for _ in crew]


def main():
    run.ready()
    while run.goes_on():
        weigh_all(multiprocessing.get_context("fork"))
        time.sleep(0.01)


main()
