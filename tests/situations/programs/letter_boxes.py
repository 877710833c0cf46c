"""Sorts mail by a pool.  The culprit: both of its threads read letter boxes, named pipes to which
another process seldom writes; in the twin there is always a letter.
"""
import concurrent.futures
import os
import tempfile
import time

from steady import Steady

BOXES = 2

run = Steady()
waited_s = [0.0] * BOXES


def read_box(number, path):
    with open(path, "rb", buffering=0) as box:
        while run.goes_on():
            start = time.monotonic()
            box.read(1 if not run.twin else 4096)
            waited_s[number] += time.monotonic() - start


def deliver(paths):
    boxes = [open(path, "wb", buffering=0) for path in paths]
    try:
        while True:
            for box in boxes:
                box.write(b"x" * (60000 if run.twin else 1))
            time.sleep(0 if run.twin else 0.3)
    except BrokenPipeError:
        os._exit(0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/box-{i}" for i in range(BOXES)]
        for path in paths:
            os.mkfifo(path)
        run.ready()
        if not os.fork():
            deliver(paths)
        with concurrent.futures.ThreadPoolExecutor(BOXES) as pool:
            for number, path in enumerate(paths):
                pool.submit(read_box, number, path)
            while run.goes_on():
                time.sleep(0.1)
    run.tell(share=run.per_second(sum(waited_s)) / BOXES)


main()
