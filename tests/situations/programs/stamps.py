"""Prints stamps on a press that another program uses, too; whose turn it is, a file tells.  The
culprit: main sleeps 20 ms at a time until the file is gone; the twin has a lock of the kernel's,
which wakes it.
"""
import fcntl
import os
import pathlib
import tempfile
import time

from steady import Steady

run = Steady()
waiting_s = 0.0


def wait_for_turn(turn, pause):
    while True:
        try:
            return os.open(turn, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            time.sleep(pause)


def take_press(turn, pause):
    global waiting_s
    began = time.monotonic()
    if run.twin:
        press = os.open(turn.with_name("press"), os.O_CREAT | os.O_RDWR)
        fcntl.flock(press, fcntl.LOCK_EX)
    else:
        press = wait_for_turn(turn, pause)
    waiting_s += time.monotonic() - began
    return press


def leave_press(press, turn):
    if not run.twin:
        turn.unlink()
    os.close(press)


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100))


def print_stamps(turn, seconds, pause):
    press = take_press(turn, pause)
    work(seconds)
    leave_press(press, turn)


def print_letters(turn):
    end = time.monotonic() + run.seconds + 4
    while time.monotonic() < end and turn.parent.exists():
        print_stamps(turn, 0.05, 0.0005)
        time.sleep(0.005)


def main():
    with tempfile.TemporaryDirectory() as folder:
        turn = pathlib.Path(folder, "turn")
        run.start_apart(print_letters, turn)
        run.ready()
        while run.goes_on():
            print_stamps(turn, 0.002, 0.02)
            work(0.005)
    run.tell(share=run.per_second(waiting_s))


main()
