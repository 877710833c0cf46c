"""Converts pictures.  The culprit: each is given to a helper, a command of its own, which is slow,
and waited for; in the twin main converts them itself."""
import os
import subprocess
import time

from steady import Steady

run = Steady()


def convert():
    helper = subprocess.Popen(["sleep", "0.5"])
    os.waitpid(helper.pid, 0)
    helper.returncode = 0


def scale(value):
    for _ in range(60000):
        value = value * 31 % 65521
    return value


def main():
    run.ready()
    waited_s = 0
    while run.goes_on():
        start = time.monotonic()
        if not run.twin:
            convert()
            waited_s += time.monotonic() - start
        scale(1)
    run.tell(share=run.per_second(waited_s))


main()
