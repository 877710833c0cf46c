"""Three threads have a Lock of Python's one after the other, and main waits behind all of them.

usage: stand_in_line.py SECONDS

Prints "waiter TID", and at the end by CLOCK_MONOTONIC, in ns: "held TID TOOK GIVES" each time that
a thread had the lock, "waited ASKED TOOK" each time that main waited for it.
"""
import sys
import threading
import time

HOLDS_S = (0.1, 0.04, 0.06)
STEP_S = 0.01  # all are in line before the first one gives the lock up


class Holder(threading.Thread):
    def __init__(self, convoy, number):
        super().__init__()
        self.convoy, self.number, self.holds = convoy, number, []

    def run(self):
        while self.convoy.begins():
            time.sleep(self.number * STEP_S)
            self.hold()
            self.convoy.end.wait()

    def hold(self):  # by itself: a function that calls a wait() may give a lock up
        with self.convoy.lock:
            took = time.monotonic_ns()
            time.sleep(HOLDS_S[self.number])
            self.holds.append((took, time.monotonic_ns()))


class Convoy:
    def __init__(self):
        self.lock, self.goes_on = threading.Lock(), True
        self.begin = threading.Barrier(len(HOLDS_S) + 1)
        self.end = threading.Barrier(len(HOLDS_S) + 1)

    def begins(self):
        self.begin.wait()
        return self.goes_on

    def wait_in_line(self):
        time.sleep(len(HOLDS_S) * STEP_S)
        asked = time.monotonic_ns()
        with self.lock:
            return asked, time.monotonic_ns()


def main(seconds):
    convoy, waits = Convoy(), []
    holders = [Holder(convoy, number) for number in range(len(HOLDS_S))]
    for holder in holders:
        holder.start()
    end = time.monotonic() + seconds
    print("waiter", threading.get_native_id())
    while time.monotonic() < end:
        convoy.begins()
        waits.append(convoy.wait_in_line())
        convoy.end.wait()
    convoy.goes_on = False
    convoy.begins()
    for wait in waits:
        print("waited", *wait)
    for holder in holders:
        holder.join()
        for hold in holder.holds:
            print("held", holder.native_id, *hold)


if __name__ == "__main__":
    main(float(sys.argv[1]))
