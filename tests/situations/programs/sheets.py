"""Draws sheets of 16 tiles, which four threads fetch.  The culprit: order() wakes one of them for
all; the others sleep on.  In the twin it wakes all.
"""
import collections
import threading
import time

from steady import Steady

TILES = 16

run = Steady()
wanted = collections.deque()
missing = [0]
guard = threading.Lock()
work, complete = threading.Condition(guard), threading.Condition(guard)
waited_s = 0


def get_tile():
    time.sleep(0.006)


def fetch():
    with guard:
        while run.goes_on():
            work.wait_for(lambda: wanted or not run.goes_on(), 1)
            while wanted:
                wanted.popleft()
                guard.release()
                get_tile()
                guard.acquire()
                missing[0] -= 1
                if not missing[0]:
                    complete.notify()


def order():
    with guard:
        wanted.extend(range(TILES))
        missing[0] = TILES
        work.notify(4 if run.twin else 1)


def await_sheet():
    global waited_s
    start = time.monotonic()
    with guard:
        complete.wait_for(lambda: not missing[0])
    waited_s += time.monotonic() - start


def main():
    run.ready()
    fetchers = [threading.Thread(target=fetch, name=f"fetch-{i}") for i in range(4)]
    for thread in fetchers:
        thread.start()
    while run.goes_on():
        order()
        await_sheet()
    share = run.per_second(waited_s)
    for thread in fetchers:
        thread.join()
    run.tell(share=share)


main()
