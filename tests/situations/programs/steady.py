"""What the programs share: how long they run, whether as the twin without the fault, the truth they
tell at the end."""
import atexit
import json
import os
import sys
import threading
import time

LEAST_ROUNDS = 3  # a thread that only waits for others has fewer


class Steady:
    """The arguments: SECONDS [--twin] and whatever else the program takes."""

    def __init__(self):
        self.seconds = float(sys.argv[1])
        self.twin = "--twin" in sys.argv
        self.start = self.end = 0.0
        self.has_rounds = True  # of the same work in the twin
        self.rounds, self.thread, self.pid = 0, threading.get_ident(), os.getpid()

    def ready(self, *pids):
        """From here on the program does the same all the time.  PIDS: the processes to look at, if
        not this one."""
        print("ready", *pids, flush=True)
        self.start = time.monotonic()
        self.end = self.start + self.seconds
        atexit.register(self.tell_work)

    def goes_on(self):
        """Asked before each round, the same piece of work in the program and its twin."""
        self.rounds += self.thread == threading.get_ident()
        return time.monotonic() < self.end

    def repeat(self, work):
        """Does WORK until the end, and tells for what share of the time."""
        self.ready()
        spent_s = 0.0
        while self.goes_on():
            start = time.monotonic()
            work()
            spent_s += time.monotonic() - start
        self.tell(share=self.per_second(spent_s))

    def watch(self, child, begins_s):
        """CHILD, which has begun after so long, is the process to look at, and ends with it."""
        self.has_rounds = False
        time.sleep(begins_s)
        assert child.poll() is None, child.returncode
        self.ready(child.pid)
        while self.goes_on():
            time.sleep(0.1)
        child.kill()

    def per_second(self, value):
        """Of seconds the share of the time since ready(), of events the rate."""
        return value / (time.monotonic() - self.start)

    def tell_work(self):
        """How many rounds a second the thread that began has done."""
        if self.has_rounds and os.getpid() == self.pid and self.rounds >= LEAST_ROUNDS:
            self.tell(work_per_s=self.per_second(self.rounds))

    @staticmethod
    def start_apart(work, *args):
        """Another program, as far as this one is concerned: not its child.  It ends with its work,
        and says nothing."""
        child = os.fork()
        if child == 0:
            try:
                if os.fork() == 0:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                    work(*args)
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    @staticmethod
    def tell(**truth):
        print(json.dumps(truth), flush=True)
