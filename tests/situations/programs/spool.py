"""A thread that sends what lies in a spool, and another process that keeps the spool's index.  The
culprit: the index is made anew under the spool's lock, which the sender needs for each piece; in
the twin the lock is taken only to note that it is done."""
import contextlib
import fcntl
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from steady import Steady

run = Steady()
waited_s = 0.0


@contextlib.contextmanager
def spool_locked(path):
    with open(path, "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def rebuild_index(pages):
    return sum(len(zlib.compress(page, 9)) for page in pages)


def keep_index(path):
    chance = random.Random(1)
    pages = [bytes(chance.choices(b"abcdefgh ", k=60000)) for _ in range(26)]
    parent = os.getppid()
    print("ready", flush=True)
    while os.getppid() == parent:
        with contextlib.nullcontext() if run.twin else spool_locked(path):
            rebuild_index(pages)
        time.sleep(0.02)


def send_next(path):
    global waited_s
    start = time.monotonic()
    with spool_locked(path) as file:
        waited_s += time.monotonic() - start
        file.read()
    time.sleep(0.065)


def send_all(path):
    while run.goes_on():
        send_next(path)


def main():
    path = tempfile.mkstemp()[1]
    with subprocess.Popen([sys.executable, *sys.argv, "--index=" + path],
                          stdout=subprocess.PIPE) as index:
        index.stdout.readline()
        sender = threading.Thread(target=send_all, args=(path,), name="uploader")
        run.has_rounds = False
        run.ready()
        sender.start()
        sender.join()
        index.kill()
    os.remove(path)
    run.tell(share=run.per_second(waited_s))


if sys.argv[-1].startswith("--index="):
    keep_index(sys.argv[-1][len("--index="):])
else:
    main()
