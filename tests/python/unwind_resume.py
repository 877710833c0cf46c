"""A stack that cannot be unwound all the way: it goes on at the next activation of the eval loop
further out, whose place the marker of its Python frames tells.  Runs wallspy on itself.

usage: unwind_resume.py WALLSPY LIBRARY (without WALLSPY: the target)"""
import ctypes
import select
import sys
import time

from support.wallspy import record_folded

LIBRARY = ctypes.CDLL(sys.argv[-1])
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int)


def computes(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def inner():
    computes(0.7)  # seen whole: so the distances are learned, once Python is found
    epoll = select.epoll()
    for _ in range(20):
        LIBRARY.blocks(epoll.fileno(), 40)
    return 0


def outer():
    return LIBRARY.calls_back(CALLBACK(inner))


def main():
    found, _ = record_folded(sys.argv[1], ["-q", "-r", "200"],
                             ["--", sys.executable, __file__, sys.argv[2]])
    stacks = [[frame.split(" ")[0] for frame in stack] for stack, _ in found]
    blocked = [stack for stack in stacks if "blocks" in stack]
    print(*blocked, sep="\n")
    assert any("[native" in stack for stack in blocked), "no stack had to be resumed"
    for stack in blocked:
        assert stack.index("outer") < stack.index(
            "calls_back") < stack.index("inner") < stack.index("blocks"), stack
        assert stack.count(
            "[native") <= 1 and stack.index("blocks") - stack.index("inner") > 1, stack
        assert "[truncated]" not in stack, stack


if __name__ == "__main__":
    main() if len(sys.argv) > 2 else outer()
