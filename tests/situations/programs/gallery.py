"""A gallery whose pages wait for the GIL, which shrink() keeps in C.  Main only waits for what its
visitors, another process, tell at the end: nothing of its time ends in shrink(), though it never
closed its own end of their pipe.  In the twin C lets go of the GIL.
"""
import ctypes
import os
import threading
import time

from steady import Steady

run = Steady()
pages = [0]


def shrink(library):
    library.usleep(30000)


def make_thumbnails():
    library = ctypes.PyDLL(None)
    while run.goes_on():
        shrink(library)
        time.sleep(0.0005)


def show_pages():
    while run.goes_on():
        pages[0] += 1
        time.sleep(0.002)


def visit(report):
    time.sleep(run.seconds)
    os.write(report, b"a report")
    os._exit(0)


def main():
    ours, theirs = os.pipe()
    run.ready()
    if not os.fork():
        visit(theirs)
    threads = [threading.Thread(target=make_thumbnails, name="thumbnails")]
    threads += [threading.Thread(target=show_pages, name=f"page-{i}") for i in range(2)]
    for thread in threads:
        thread.start()
    os.read(ours, 100)
    for thread in threads:
        thread.join()


main()
