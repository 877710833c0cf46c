"""Two processes add prices up.  The culprit: the prices are in a dict of a Manager's, so that each
look-up is a request to its process; in the twin each has a copy."""
import contextlib
import multiprocessing
import os
import time

from steady import Steady

run = Steady()


def add_up(prices, done):
    total = asked = 0
    asking_s = 0.0
    while run.goes_on():
        start = time.monotonic()
        total += prices[asked % 1000]
        asking_s += time.monotonic() - start
        asked += 1
        sum(range(200))
    done.put((run.per_second(asked), run.per_second(asking_s), total))


def main():
    context = multiprocessing.get_context("fork")
    prices = {n: n * 3 for n in range(1000)}
    with contextlib.nullcontext() if run.twin else context.Manager() as manager:
        run.start, done = time.monotonic(), context.Queue()
        run.end = run.start + run.seconds
        shared = prices if run.twin else manager.dict(prices)
        crew = [context.Process(target=add_up, args=(shared, done)) for _ in range(2)]
        for clerk in crew:
            clerk.start()
        run.ready(os.getpid())
        told = [done.get() for _ in crew]
        run.tell(work_per_s=sum(asked for asked, _, _ in told),
                 share=sum(share for _, share, _ in told) / 2)
        for clerk in crew:
            clerk.join()


main()
