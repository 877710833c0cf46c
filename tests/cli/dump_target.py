"""A Python program that hangs in one of several ways: dump_target.py KIND."""
import asyncio
import os
import queue
import sys
import threading

jobs = queue.Queue()


def ready():
    print("ready", flush=True)


def collect(limit):
    ready()
    return [jobs.get() for _ in range(limit)]


def train(fd):
    ready()
    if os.environ.get("RANK") == "2":
        return load_batch(fd)
    return all_reduce(fd)


def all_reduce(fd):
    return os.read(fd, 1)


def load_batch(fd):
    return os.read(fd, 2)


async def handle(items):
    ready()
    return await items.get()


async def serve():
    items = asyncio.Queue()
    await asyncio.gather(*(handle(items) for _ in range(3)))


if __name__ == "__main__":
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True,
                     name="watcher").start()
    if sys.argv[1] == "queue":
        collect(3)
    if sys.argv[1] == "rank":
        train(os.pipe()[0])
    if sys.argv[1] == "asyncio":
        asyncio.run(serve())
