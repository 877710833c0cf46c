"""Takes orders while a thread books deliveries.  The culprit: the thread keeps the lock of the
stock while it checks the papers of a delivery; the twin checks them before.
"""
import hashlib
import threading
import time

from steady import Steady

run = Steady()
lock = threading.Lock()
stock = {}
PAPERS = bytes(1 << 20)


def check_papers(item):
    """Computes for 50 ms, mostly in C and without the GIL."""
    digest = PAPERS
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        digest = hashlib.sha256(PAPERS).digest()
    return digest[0] + item


def deliver():
    item = 0
    while run.goes_on():
        item += 1
        if run.twin:
            amount = check_papers(item)
        with lock:
            if not run.twin:
                amount = check_papers(item)
            stock[item % 100] = amount
        time.sleep(0.01)


def order(item):
    with lock:
        return stock.get(item, 0)


def confirm(amount):
    value = amount
    end = time.thread_time() + 0.008
    while time.thread_time() < end:
        value = value * 31 % 65521
    return value


def main():
    waited_s = 0
    run.ready()
    threading.Thread(target=deliver, name="deliver").start()
    while run.goes_on():
        start = time.monotonic()
        amount = order(5)
        waited_s += time.monotonic() - start
        confirm(amount)
    run.tell(share=run.per_second(waited_s))


main()
