"""A program in the background runs another one, which asks the terminal, and is stopped for that by
SIGTTIN; it waits for the stopped one.  The twin's other program asks nobody and sleeps."""
import ctypes
import os
import pty
import signal
import subprocess
import sys
import time

from steady import Steady


PR_SET_PDEATHSIG = 1


def end_with_parent():
    """Each has a process group of its own, so that no one signal ends all."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return children.read().split()


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(") ", 1)[1][0]


def ask_user(run):
    asks = "exec sleep 1000" if run.twin else "read answer </dev/tty; echo $answer"
    return subprocess.run(["sh", "-c", asks], stdout=subprocess.DEVNULL, check=False,
                          preexec_fn=end_with_parent)


def become_background(run):
    """In a terminal of its own, in which another process group has the foreground."""
    pid, _ = pty.fork()
    if pid == 0:
        end_with_parent()
        if os.fork() == 0:
            end_with_parent()
            os.setpgid(0, 0)
            ask_user(run)
        time.sleep(run.seconds + 10)
        os._exit(0)
    return pid


def is_asking(leader, state):
    """Is the program that the one in the background runs there, and in STATE?"""
    found = [state_of(child) for background in children_of(leader)
             for child in children_of(background)]
    return found == [state]


def main():
    run = Steady()
    leader = become_background(run)
    while not is_asking(leader, "S" if run.twin else "T"):
        time.sleep(0.01)
    run.ready(*children_of(leader))
    time.sleep(run.seconds)
    os.killpg(leader, 9)
    sys.exit(0)


main()
