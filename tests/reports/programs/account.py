"""What the programs in Python share: how long they run, and their own account of their time."""
import collections
import json
import os
import sys
import threading
import time


class Span:
    """One stay at a place.  OFF_CPU: only what the thread did not run of it."""

    def __init__(self, account, place, off_cpu):
        self.account, self.place, self.off_cpu = account, place, off_cpu

    def __enter__(self):
        self.cpu = time.thread_time() if self.off_cpu else 0
        self.begin = time.monotonic()

    def __exit__(self, *_):
        took = time.monotonic() - self.begin
        took -= time.thread_time() - self.cpu if self.off_cpu else 0
        self.account.seconds[threading.get_ident(), self.place] += took


class Account:
    def __init__(self):
        self.start = self.end = 0.0
        self.seconds = collections.Counter()  # of (thread, place)

    def ready(self):
        """From here on the program does the same all the time."""
        print("ready", flush=True)
        self.start = time.monotonic()
        self.end = self.start + float(sys.argv[1])

    def goes_on(self):
        return time.monotonic() < self.end

    def at(self, place, off_cpu=False):
        return Span(self, place, off_cpu)

    def by_place(self, threads=1):
        """Seconds by place: the mean of so many alike threads."""
        sums = collections.Counter()
        for (_, place), seconds in self.seconds.items():
            sums[place] += seconds / threads
        return sums

    def tell(self, threads=1, **more):
        seconds = {"wall": time.monotonic() - self.start, **self.by_place(threads), **more}
        print(json.dumps({place: round(s, 3) for place, s in seconds.items()}), flush=True)

    def in_children(self, count, work):
        """WORK(i) in so many children.  Returns their seconds by place, the mean."""
        reader, writer = os.pipe()
        children = [self.fork(writer, work, i) for i in range(count)]
        os.close(writer)
        with open(reader) as lines:
            told = [json.loads(line) for line in lines]
        for child in children:
            os.waitpid(child, 0)
        return {place: sum(one.get(place, 0) for one in told) / count
                for place in {place for one in told for place in one}}

    def fork(self, writer, work, i):
        child = os.fork()
        if child == 0:
            try:
                work(i)
                os.write(writer, (json.dumps(self.by_place()) + "\n").encode())
            finally:
                os._exit(0)
        return child
