"""An event loop with little to do, and three threads beside it.  The culprit: one of them sleeps in
the program's own load_rates(), as for a service that answers late.  The others sleep in the
standard library's scheduler, as they should.
"""
import asyncio
import sched
import threading
import time

from steady import Steady

run = Steady()
slept_s = 0.0


def load_rates():
    global slept_s
    start = time.monotonic()
    time.sleep(0.3)
    slept_s += time.monotonic() - start


def report():
    while run.goes_on():
        load_rates()
        sum(i * i for i in range(200000))


async def serve():
    threading.Thread(target=report, name="report").start()
    while run.goes_on():
        await asyncio.sleep(0.05)


def main():
    for _ in range(2):
        clock = sched.scheduler()
        for hour in range(100):
            clock.enter(hour * 2, 0, time.monotonic)
        threading.Thread(target=clock.run, name="hours", daemon=True).start()
    run.ready()
    asyncio.run(serve())
    run.tell(share=run.per_second(slept_s))


main()
