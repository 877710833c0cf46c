"""Makes thumbnails in threads, for tasks of asyncio's.  The culprit: there are 4 threads for 30
tasks, and a task that only looks up a name needs a thread, too; in the twin there are enough.
"""
import asyncio
import concurrent.futures
import time

from steady import Steady

run = Steady()
TASKS = 30
looked_up_s = 0.0


def make_thumbnail():
    time.sleep(0.1)


async def show():
    while run.goes_on():
        await asyncio.get_running_loop().run_in_executor(None, make_thumbnail)


async def look_up():
    global looked_up_s
    loop = asyncio.get_running_loop()
    while run.goes_on():
        start = loop.time()
        await loop.getaddrinfo("127.0.0.1", 80)
        looked_up_s += loop.time() - start
        await asyncio.sleep(0.001)


async def main():
    threads = TASKS + 2 if run.twin else 4
    asyncio.get_running_loop().set_default_executor(
        concurrent.futures.ThreadPoolExecutor(threads, thread_name_prefix="thumbs"))
    tasks = [asyncio.create_task(show()) for _ in range(TASKS)]
    run.ready()
    await asyncio.gather(look_up(), *tasks)
    run.tell(looking_up=run.per_second(looked_up_s))


asyncio.run(main())
