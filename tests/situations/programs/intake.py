"""Takes orders from a FIFO, which it opens anew for each.  The culprit: hardly anybody opens it to
write one; in the twin somebody always does.
"""
import contextlib
import os
import tempfile
import time

from steady import Steady

run = Steady()
waited_s = 0.0


def next_order(path):
    global waited_s
    start = time.monotonic()
    with open(path, encoding="ascii") as orders:
        waited_s += time.monotonic() - start
        return orders.read()


def place_orders(path):
    while os.getppid() != 1:
        with contextlib.suppress(BrokenPipeError), open(path, "w", encoding="ascii") as orders:
            orders.write("tea")
        time.sleep(0 if run.twin else 0.9)
    os._exit(0)


def pour(order):
    end = time.monotonic() + 0.01
    while order and time.monotonic() < end:
        pass


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/orders"
        os.mkfifo(path)
        if not os.fork():
            place_orders(path)
        run.ready()
        while run.goes_on():
            pour(next_order(path))
    run.tell(share=run.per_second(waited_s))


main()
