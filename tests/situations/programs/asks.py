"""A program in the background runs another one, which asks the terminal, and is stopped for that by
SIGTTIN; it waits for the stopped one.  The twin's other program asks nobody and sleeps."""
import os
import pty
import subprocess
import sys
import time

from steady import Steady


def ask_user(run):
    asks = "sleep 1000" if run.twin else "read answer </dev/tty; echo $answer"
    return subprocess.run(["sh", "-c", asks], stdout=subprocess.DEVNULL, check=False)


def become_background(run):
    """In a terminal of its own, in which another process group has the foreground."""
    pid, _ = pty.fork()
    if pid == 0:
        if os.fork() == 0:
            os.setpgid(0, 0)
            ask_user(run)
        time.sleep(run.seconds + 10)
        os._exit(0)
    return pid


def main():
    run = Steady()
    leader = become_background(run)
    time.sleep(0.5)
    with open(f"/proc/{leader}/task/{leader}/children", encoding="ascii") as children:
        run.ready(*children.read().split())
    time.sleep(run.seconds)
    os.killpg(leader, 9)
    sys.exit(0)


main()
