"""Eight readers of one library.  The culprit: it has two copies of the book that all need, and each
keeps its copy for 30 ms; in the twin there is one for each.
"""
import queue
import threading
import time

from steady import Steady

READERS = 8

run = Steady()
copies = queue.Queue()
waited_s = [0.0] * READERS


def borrow_copy(reader):
    waited_s[reader] -= time.monotonic()
    copy = copies.get()
    waited_s[reader] += time.monotonic()
    return copy


def read_chapter():
    time.sleep(0.03)


def look_up(reader):
    copy = borrow_copy(reader)
    read_chapter()
    copies.put(copy)
    time.sleep(0.001)


def visit(reader):
    while run.goes_on():
        look_up(reader)


def main():
    for copy in range(READERS if run.twin else 2):
        copies.put(copy)
    run.ready()
    readers = [threading.Thread(target=visit, name=f"reader-{i}", args=(i,))
               for i in range(READERS)]
    for thread in readers:
        thread.start()
    for thread in readers:
        thread.join()
    run.tell(share=run.per_second(sum(waited_s)) / READERS)


main()
