"""Copies discs, with a command for each.  The culprit: the command tells of each track on its
stderr, a pipe that main reads only when the disc is done; so both wait, until watch() loses its
patience.  --patient: nobody watches, and they wait for ever.  In the twin it tells nobody.
"""
import signal
import subprocess
import sys
import threading
import time

from steady import Steady

TRACKS = 400
COMMAND = """
import sys, time
for track in range(%d):
    sys.stdout.buffer.write(b"x" * 512)
    sys.stdout.buffer.flush()
    sys.stderr.write("track %%4d: read, no errors".ljust(511) %% track + chr(10))
    sys.stderr.flush()
    time.sleep(0.002)
""" % TRACKS

run = Steady()
done = threading.Event()
waited_s = 0
read_at = time.monotonic()


def read_track(copier):
    global read_at, waited_s
    start = time.monotonic()
    track = copier.stdout.read(512)
    read_at = time.monotonic()
    waited_s += read_at - start
    return track


def copy_disc(copier):
    global read_at
    read_at = time.monotonic()
    while read_track(copier):
        pass
    return copier.stderr.read() if copier.stderr else b""


def watch(discs):
    while not done.wait(0.1):
        if time.monotonic() - read_at > 0.8 and discs:
            discs[-1].kill()


def main():
    discs = []
    watcher = threading.Thread(target=watch, name="watch", args=(discs,))
    run.ready()
    if "--patient" in sys.argv:
        signal.signal(signal.SIGALRM, lambda *_: discs[-1].kill())
        signal.setitimer(signal.ITIMER_REAL, run.seconds)
    else:
        watcher.start()
    while run.goes_on():
        with subprocess.Popen([sys.executable, "-c", COMMAND], bufsize=0, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL if run.twin else subprocess.PIPE) as copier:
            discs.append(copier)
            copy_disc(copier)
    done.set()
    if watcher.ident:
        watcher.join()
    run.tell(share=run.per_second(waited_s))


main()
