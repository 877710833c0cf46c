#!/usr/bin/env python3
"""Waits that their time-out ends, and waits that are answered shortly before: is each told apart?

A program's threads wait in poll(2), select(2) and for a condition. Of each wait chance says whether
it is answered after 80 % of the time-out, or not at all. The program counts both; the recording
must have as many of each that expired, but for EDGES.

usage: time_outs.py WALLSPY
"""
import json
import pathlib
import sqlite3
import sys
import tempfile

from support.chance import SEED
from support.outcome import end_with
from support.wallspy import FULL_RATE, succeed

EDGES = 2  # on a busy machine an answer may come just before the time-out does

PROGRAM = """
import json, random, select, socket, sys, threading, time
TIME_OUT, ANSWER, SECONDS = 0.35, 0.28, 6
counts = {}

class Pair:
    \"\"\"Who waits, and who answers, or does not.\"\"\"
    def __init__(self, name):
        self.name = name
        self.waiting, self.told = socket.socketpair()
        self.condition, self.answered = threading.Condition(), False
        self.begun = threading.Semaphore(0)
        self.plan = random.Random(sys.argv[1] + name)

    def answer_all(self):
        while True:
            self.begun.acquire()
            time.sleep(ANSWER)
            self.told.send(b"x")
            with self.condition:
                self.answered = True
                self.condition.notify()

    def poll(self):
        poll = select.poll()
        poll.register(self.waiting, select.POLLIN)
        return bool(poll.poll(TIME_OUT * 1000))

    def select(self):
        return bool(select.select([self.waiting], [], [], TIME_OUT)[0])

    def notify(self):
        with self.condition:
            return self.condition.wait_for(lambda: self.answered, TIME_OUT)

    def wait_on(self):
        expired, all_waits = 0, 0
        while time.monotonic() < end:
            self.answered = False
            if self.plan.random() < 0.5:
                self.begun.release()
            if getattr(self, self.name)():
                self.waiting.recv(1)
            else:
                expired += 1
            all_waits += 1
            until = time.monotonic() + 0.03
            while time.monotonic() < until:
                pass
        counts[self.name] = [expired, all_waits]

end = time.monotonic() + SECONDS
threads = []
for name in ("poll", "select", "notify"):
    pair = Pair(name)
    threading.Thread(target=pair.answer_all, name="answer", daemon=True).start()
    threads.append(threading.Thread(target=pair.wait_on, name=name))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(counts), flush=True)
"""

QUERY = """select thread.name, sum(run.waits) from run join wait on run.wait = wait.id
           join thread on run.thread = thread.id where wait.expired group by thread.name"""


def main():
    wallspy = sys.argv[1]
    print(f"WALLSPY_SEED={SEED}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder, "run.wallspy")
        ran = succeed([wallspy, "-q", *FULL_RATE, "-o", kept, "--", sys.executable, "-c", PROGRAM,
                       str(SEED)])
        truth = json.loads(ran.stdout)
        with sqlite3.connect(kept) as recording:
            found = dict(recording.execute(QUERY).fetchall())
    good = True
    for name, (expired, waits) in truth.items():
        print(f"{name}: {expired} of {waits} waits expired, {found.get(name, 0)} in the recording")
        good &= abs(found.get(name, 0) - expired) <= EDGES and 0 < expired < waits
    return good


if __name__ == "__main__":
    end_with(main)
