"""Fetches pages, each in a task of asyncio's.  The culprit: at most 5 of 60 are fetched at a time,
for that is the limit of the connections; in the twin it is as many as there are tasks.
"""
import asyncio

from steady import Steady

run = Steady()
TASKS = 60
waited_s = 0.0


class Connections:
    def __init__(self, limit):
        self.free = asyncio.Semaphore(limit)

    async def take(self):
        global waited_s
        loop = asyncio.get_running_loop()
        start = loop.time()
        await self.free.acquire()
        waited_s += loop.time() - start


async def fetch(connections):
    await connections.take()
    await asyncio.sleep(0.05)  # the server thinks
    connections.free.release()


async def crawl(connections):
    while run.goes_on():
        await fetch(connections)


async def main():
    connections = Connections(TASKS if run.twin else 5)
    tasks = [asyncio.create_task(crawl(connections)) for _ in range(TASKS)]
    run.ready()
    await asyncio.gather(*tasks)
    run.tell(waiting=run.per_second(waited_s) / TASKS)


asyncio.run(main())
