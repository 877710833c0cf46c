"""Trains on batches that two worker processes load, through a queue.  usage: feed.py SECONDS
[--twin] FOLDER

The culprit: each read in FOLDER takes 20 ms (nas.py); the twin is given a folder with the same
files on a quick disk.
"""
import itertools
import multiprocessing
import os
import pathlib
import sys
import time

from steady import Steady

READS = 4
run = Steady()
folder = pathlib.Path(sys.argv[-1])


def load_batch(number):
    with open(folder / f"{number % 64:04}.bin", "rb", buffering=0) as file:
        return sum(len(file.read(4096)) for _ in range(READS))


def work(first, batches, reading, loaded):
    """Loads every second batch; READING is how long that took, LOADED how many there were."""
    for number in itertools.count(first, 2):
        start = time.monotonic()
        batch = load_batch(number)
        reading.value += time.monotonic() - start
        loaded.value += 1
        batches.put(batch)


def train_on(batch):
    value = batch
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        value = value * 31 % 65521
    return value


def main():
    """Workers ahead of it wait, as the queue holds four batches."""
    batches = multiprocessing.Queue(4)
    reading = [multiprocessing.Value("d", 0.0) for _ in range(2)]
    loaded = [multiprocessing.Value("q", 0) for _ in range(2)]
    workers = [multiprocessing.Process(target=work, args=(i, batches, reading[i], loaded[i]),
                                       daemon=True) for i in range(2)]
    for worker in workers:
        worker.start()
    train_on(batches.get())
    run.ready(os.getpid(), *(worker.pid for worker in workers))
    before = [value.value for value in reading]
    waited_s = 0
    while run.goes_on():
        start = time.monotonic()
        batch = batches.get()
        waited_s += time.monotonic() - start
        train_on(batch)
    run.tell(main=run.per_second(waited_s), share=run.per_second(reading[0].value - before[0]),
             read_s=reading[0].value / (READS * loaded[0].value))
    for worker in workers:
        worker.terminate()


if __name__ == "__main__":
    main()
