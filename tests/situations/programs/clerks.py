"""Eight clerks who print receipts.  The culprit: they take one lock of Python's in turn, and each
keeps it while it sleeps on the printer; in the twin each has a printer of its own.
"""
import threading
import time

from steady import Steady

CLERKS = 8

run = Steady()
printers = [threading.Lock() for _ in range(CLERKS if run.twin else 1)]
waited_s = [0.0] * CLERKS


def print_receipt():
    time.sleep(0.004)


def serve_customer(clerk):
    with printers[clerk % len(printers)]:
        waited_s[clerk] += time.monotonic()
        print_receipt()


def clerk(number):
    while run.goes_on():
        waited_s[number] -= time.monotonic()
        serve_customer(number)
        time.sleep(0.002)


def main():
    run.ready()
    clerks = [threading.Thread(target=clerk, name="clerk", args=(i,)) for i in range(CLERKS)]
    for thread in clerks:
        thread.start()
    while run.goes_on():
        time.sleep(0.1)
    for thread in clerks:
        thread.join()
    run.tell(share=run.per_second(sum(waited_s)) / CLERKS)


main()
