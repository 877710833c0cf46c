"""Publishes a clip.  The culprit: transform(), in the threads of the command that codes its frames;
that one's main thread waits for them, and main for that.  In the twin nothing is coded."""
import subprocess
import sys
import time

from steady import Steady

run = Steady()


def shrink(value):
    for _ in range(60000):
        value = value * 31 % 65521
    return value


def publish(coder):
    coder.stdin.write(b"x")
    coder.stdin.flush()
    coder.stdout.read(1)


def main():
    waited_s = 0
    with subprocess.Popen([sys.argv[-1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as coder:
        run.ready()
        while run.goes_on():
            start = time.monotonic()
            if not run.twin:
                publish(coder)
            waited_s += time.monotonic() - start
            shrink(1)
        coder.stdin.close()
    run.tell(share=run.per_second(waited_s))


main()
