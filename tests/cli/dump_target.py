"""A Python program that hangs in one of several ways: dump_target.py KIND [N]."""
import asyncio
import os
import queue
import select
import socket
import subprocess
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


def poll():
    events = select.epoll()
    ends = [*socket.socketpair(), *os.pipe()]
    events.register(ends[0], select.EPOLLIN)
    events.register(ends[2], select.EPOLLIN)
    ready()
    return events.poll()


async def handle(items):
    ready()
    return await items.get()


async def serve():
    items = asyncio.Queue()
    await asyncio.gather(*(handle(items) for _ in range(3)))


def launch(ranks):
    """As torchrun: waits for its ranks, each with a helper thread; they end when its input does."""
    workers = [subprocess.Popen([sys.executable, __file__, "worker"], stdin=0,
                                stdout=subprocess.PIPE, env={**os.environ, "RANK": str(i)})
               for i in range(ranks)]
    for worker in workers:
        worker.stdout.readline()
    ready()
    for worker in workers:
        worker.wait()


if __name__ == "__main__":
    if sys.argv[1] == "launch":
        launch(int(sys.argv[2]))
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True,
                     name="watcher").start()
    if sys.argv[1] == "queue":
        collect(3)
    if sys.argv[1] in ("rank", "worker"):
        train(os.pipe()[0])
    if sys.argv[1] == "epoll":
        poll()
    if sys.argv[1] == "asyncio":
        asyncio.run(serve())
