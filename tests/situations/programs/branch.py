"""A branch asks its head office, by coroutines of asyncio's.  The culprit: rate_of() is called by
one of them, and waits for another one of the same event loop, which cannot run meanwhile; in the
twin it is called in another thread.
"""
import asyncio
import os
import signal

from steady import Steady

run = Steady()
rates = 0


async def ask_head_office(currency):
    await asyncio.sleep(0.02)
    return len(currency)


def rate_of(currency, loop):
    return asyncio.run_coroutine_threadsafe(ask_head_office(currency), loop).result()


async def change_money():
    global rates
    loop = asyncio.get_running_loop()
    while True:
        if run.twin:
            await asyncio.to_thread(rate_of, "krone", loop)
        else:
            rate_of("krone", loop)
        rates += 1


async def main():
    await asyncio.to_thread(len, "")  # a thread that has nothing to do, as many loops have
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, run.seconds)
    run.has_rounds = False
    run.ready()
    await change_money()


def end(*_):
    run.tell(rates_per_s=run.per_second(rates))
    os._exit(0)


asyncio.run(main())
