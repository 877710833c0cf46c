"""Eight ranks that ask a driver for the device's properties at each operator.  The culprit: one
lock of the driver, which each call has for a millisecond; in the twin each rank has a device of its
own.  What each rank waits grows with their number: one alone is there for a third of its time."""
import fcntl
import os
import tempfile
import time

from steady import Steady

RANKS = 8
run = Steady()


def get_device_properties(device):
    start = time.monotonic()
    fcntl.lockf(device, fcntl.LOCK_EX)
    asked_s = time.monotonic() - start
    time.sleep(0.001)
    fcntl.lockf(device, fcntl.LOCK_UN)
    return asked_s


def topk(device):
    waited_s = get_device_properties(device)
    time.sleep(0.002)
    return waited_s


def be_rank(rank, path):
    os.environ["RANK"] = str(rank)
    waited_s = 0
    with open(path + str(rank) * run.twin, "w", encoding="ascii") as device:
        while run.goes_on():
            waited_s += topk(device)
    return run.per_second(waited_s)


def main():
    with tempfile.TemporaryDirectory() as folder:
        run.ready()
        for rank in range(1, RANKS):
            if os.fork() == 0:
                be_rank(rank, folder + "/device")
                os._exit(0)
        share = be_rank(0, folder + "/device")
        for _ in range(1, RANKS):
            os.wait()
    run.tell(share=share)


main()
