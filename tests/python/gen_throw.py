"""gen.throw() passes by the generators and coroutines that wait for another: their frames are in
the chain, but no activation runs them.  So does asyncio with each error and each cancellation.
Runs wallspy on itself.

usage: gen_throw.py WALLSPY (without it: the target)"""

import sys
import time

from support.wallspy import record_folded

CALLED = ["main", "thrower", "awaits", "delegates", "inner"]


class Future:
    def __await__(self):
        try:
            yield 1
        except ValueError:
            inner()
            yield 2


def inner():
    end = time.perf_counter() + 0.5
    while time.perf_counter() < end:
        pass


async def delegates():
    await Future()


async def awaits():
    await delegates()


def thrower():
    coroutine = awaits()
    coroutine.send(None)
    coroutine.throw(ValueError)


def main():
    thrower()


def test():
    found, _ = record_folded(sys.argv[1], ["-q", "--internals", "-r", "200"],
                             ["--", sys.executable, __file__])
    stacks = [stack for stack, _ in found if "inner" in stack]
    assert stacks
    for stack in stacks:
        # the program's root; a stripped program's has no name
        assert "_start" not in stack[2:], stack
        if sys.version_info >= (3, 10):  # older ones lose who called throw() themselves
            assert [name for name in stack if name in CALLED] == CALLED, stack


if __name__ == "__main__":
    test() if len(sys.argv) > 1 else main()
