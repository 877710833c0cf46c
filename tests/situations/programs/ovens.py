"""Three bakers take orders out of a queue, and main waits until all are done.  The culprit: bake()
fails now and then, and the baker goes on without task_done(), so that main waits for ever; in the
twin that is called each time.
"""
import os
import queue
import signal
import threading
import time

from steady import Steady

run = Steady()
orders = queue.Queue()
baked = 0


def bake(order):
    time.sleep(0.002)
    if order % 7 == 3:
        raise ValueError(order)


def work():
    while True:
        order = orders.get()
        try:
            bake(order)
        except ValueError:
            if not run.twin:
                continue
        orders.task_done()


def bake_all(batch):
    global baked
    for order in batch:
        orders.put(order)
    orders.join()
    baked += len(batch)


def end(*_):
    run.tell(baked_per_s=run.per_second(baked))
    os._exit(0)


def main():
    for number in range(3):
        threading.Thread(target=work, name=f"baker-{number}", daemon=True).start()
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, run.seconds)
    run.has_rounds = False
    run.ready()
    while True:
        bake_all(range(10))


main()
