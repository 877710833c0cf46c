"""Sells tickets for the stage and the screen, at most three at a time.  The culprit: sell() keeps
its place while rest() waits before the next try, for the screen's are refused at first; in the
twin they are not.
"""
import threading
import time

from steady import Steady

run = Steady()
places = threading.Semaphore(3)
waited_s = {"stage": 0.0, "screen": 0.0}


def take_place(kind):
    start = time.monotonic()
    places.acquire()
    waited_s[kind] += time.monotonic() - start


def ask_theatre():
    time.sleep(0.004)


def rest(attempt):
    time.sleep(0.04 * 2 ** attempt)


def sell(kind):
    take_place(kind)
    try:
        for attempt in range(1 if run.twin or kind == "stage" else 4):
            ask_theatre()
            if kind == "screen" and not run.twin:
                rest(attempt)
    finally:
        places.release()


def serve(kind):
    while run.goes_on():
        sell(kind)
        time.sleep(0.02)


def main():
    run.ready()
    threads = [threading.Thread(target=serve, name=f"{kind}-{i}", args=(kind,))
               for kind, n in (("stage", 5), ("screen", 4)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.tell(share=run.per_second(sum(waited_s.values())) / len(threads))


main()
