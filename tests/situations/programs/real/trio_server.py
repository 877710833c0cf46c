"""A program of trio's.  The culprit: build_report() computes in the loop, and ticks wait for it."""
import time

import trio
from steady import Steady

run = Steady()
longest_s = 0.0


def build_report():
    global longest_s
    start = time.monotonic()
    rows = sum(item * item % 7 for item in range(3_000_000))
    longest_s = max(longest_s, time.monotonic() - start)
    return rows


async def report():
    while run.goes_on():
        build_report()
        await trio.sleep(0.3)


async def tick():
    while run.goes_on():
        await trio.sleep(0.01)


async def main():
    run.ready()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(report)
        nursery.start_soon(tick)
    run.tell(longest_s=longest_s)


trio.run(main)
