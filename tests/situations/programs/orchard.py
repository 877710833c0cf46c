"""Looks things up in an index that is mapped.  The culprit: its cgroup has less memory than the
index, so that pages are read again and again; the twin's has enough.  Arguments: SECONDS INDEX."""
import mmap
import os
import random
import sys
import time

from steady import Steady

run = Steady()
PAGE, PAGES = 4096, 120 << 8
rng = random.Random(1)


def make_index(path):
    with open(path, "wb") as index:
        for _ in range(PAGES // 256):
            index.write(os.urandom(PAGE * 256))
        index.flush()
        os.fsync(index.fileno())


def look_up(index, page):
    return index[page * PAGE + 17]


def answer_all(index):
    done, cpu_s = 0, time.process_time()
    while run.goes_on():
        for _ in range(100):
            look_up(index, rng.randrange(PAGES))
        done += 100
    run.tell(look_ups_per_s=run.per_second(done),
             share=1 - run.per_second(time.process_time() - cpu_s))


def main():
    make_index(sys.argv[-1])
    with open(sys.argv[-1], "rb") as file:
        index = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    run.ready()
    answer_all(index)


main()
