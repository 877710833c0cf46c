"""A process in which everything has a hostile name; prints its pid once all its threads wait.

usage: names_target.py LIBRARY FIFO ARGUMENT...
"""
import ctypes
import os
import sys
import threading

ORDERS = "\x1b[2J\x1b]0;owned\x07\x9b31m\nwallspy: done\r\"quote\\ \u202e\udc80"
PR_SET_NAME = 15
# Without blocking here: nobody writes.
fifo = os.open(sys.argv[2], os.O_RDWR)
wait = ctypes.CDLL(sys.argv[1]).wait_in_library


def rename(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name)


def hostile(body):
    """BODY under a name, and in a file, that nobody should be called."""
    name = body.__name__ + ORDERS
    code = body.__code__.replace(co_name=name, co_filename="/src/" + name)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname="Class." + name)
    body.__code__ = code
    return body


@hostile
def in_library(waiting):
    rename(b"\x1b[31m\nwallspy\xff")
    waiting.set()
    wait(fifo)


@hostile
def in_python(waiting):
    rename(b"\xc2\x9b2J\t\"\\")
    waiting.set()
    while True:
        os.read(fifo, 1)


def main():
    for body in (in_library, in_python):
        waiting = threading.Event()
        threading.Thread(target=body, args=(waiting,), daemon=True).start()
        waiting.wait()
    rename(b"\x1bc\nrm -rf")
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)


main()
