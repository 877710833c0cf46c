"""An asyncio server keeps what its clients send.  The culprit: the one task that takes lines from
the queue has ended with an exception that nobody saw; the queue is full, and all handlers wait in
its put().  In the twin that task goes on after a bad line."""
import asyncio
import contextlib
import os
import socket
import time

from steady import Steady

run = Steady()
CLIENTS = 6
kept = []


def keep(line):
    if line.startswith(b"bad"):
        raise ValueError(line)
    kept.append(line)


async def store(lines):
    while True:
        line = await lines.get()
        if run.twin:
            with contextlib.suppress(ValueError):
                keep(line)
        else:
            keep(line)


async def handle(reader, writer, lines):
    while line := await reader.readline():
        await lines.put(line)
        writer.write(b"ok\n")
        await writer.drain()
    writer.close()


def be_clients(port):
    """Another program."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
    clients[0].sendall(b"bad\n")
    end = time.monotonic() + run.seconds + 2
    while time.monotonic() < end:
        for client in clients:
            with contextlib.suppress(OSError):
                client.sendall(b"line\n")
        time.sleep(0.05)


async def main():
    lines = asyncio.Queue(4)
    server = await asyncio.start_server(lambda r, w: handle(r, w, lines), "127.0.0.1", 0)
    consumer = asyncio.create_task(store(lines), name="store")
    run.start_apart(be_clients, server.sockets[0].getsockname()[1])
    await asyncio.sleep(0.5)
    run.ready()
    while run.goes_on():
        await asyncio.sleep(0.5)
    run.tell(lines=len(kept), ended=consumer.done())
    os._exit(0)  # without a word about its tasks


asyncio.run(main())
