"""A program and its helper, each a process.  The culprit: main keeps the lock of a file while it
waits for the helper's report, which comes through a pipe, and the helper waits for that lock; in
the twin main gives the lock up first."""
import fcntl
import os
import tempfile
import time

from steady import Steady

run = Steady()


def helper(path, report):
    with open(path, "r+", encoding="ascii") as file:
        while True:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.write(report, b"r")
            fcntl.flock(file, fcntl.LOCK_UN)


def work(value):
    for _ in range(60000):
        value = value * 31 % 65521
    return value


def read_report(reports):
    return os.read(reports, 1)


def main():
    path = tempfile.mkstemp()[1]
    reports, report = os.pipe()
    gate, opener = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reports)
        os.read(gate, 1)
        helper(path, report)
    os.close(report)
    end(pid, run.seconds + 1)  # it must not inherit the lock
    with open(path, "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        run.ready(os.getpid(), pid)
        os.write(opener, b"g")
        if run.twin:
            fcntl.flock(file, fcntl.LOCK_UN)
            while run.goes_on():
                read_report(reports)
                work(1)
        else:
            read_report(reports)
    os.kill(pid, 9)
    os.remove(path)
    run.tell(share=1)


def end(pid, seconds):
    """Another program ends the helper after SECONDS, however long this one waits."""
    def work():
        time.sleep(seconds)
        os.kill(pid, 9)
    run.start_apart(work)


main()
