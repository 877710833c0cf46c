"""Resizes pictures that a thread reads and decodes, through a queue.  The culprit: decode() needs
nearly all of the time; in the twin pictures come decoded, ten a second.
"""
import queue
import threading
import time

from steady import Steady

run = Steady()
pictures = queue.Queue(2)


def decode(name):
    value = name
    end = time.thread_time() + 0.03
    while time.thread_time() < end:
        value = value * 31 % 65521
    return value


def read_all():
    name = 0
    while run.goes_on():
        name += 1
        if run.twin:
            time.sleep(0.1)
        pictures.put(name if run.twin else decode(name))
    pictures.put(None)


def resize(picture):
    return sum(range(picture % 7 * 100))


def main():
    waited_s = 0
    run.ready()
    threading.Thread(target=read_all, name="reader").start()
    while True:
        start = time.monotonic()
        picture = pictures.get()
        waited_s += time.monotonic() - start
        if picture is None:
            break
        resize(picture)
    run.tell(share=run.per_second(waited_s))


main()
