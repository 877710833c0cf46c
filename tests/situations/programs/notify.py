"""An asyncio program that notifies three clients.  The culprit: load_template() blocks the event
loop while it waits for a disk; in the twin another thread waits for it."""
import asyncio
import time

from steady import Steady

run = Steady()


def load_template():
    time.sleep(0.05)
    return "hello"


async def notify():
    if run.twin:
        return await asyncio.get_running_loop().run_in_executor(None, load_template)
    return load_template()


async def main():
    run.ready()
    blocked_s = 0
    while run.goes_on():
        start = time.monotonic()
        await asyncio.gather(notify(), notify(), notify())
        blocked_s += 0 if run.twin else time.monotonic() - start
    run.tell(share=run.per_second(blocked_s))


asyncio.run(main())
