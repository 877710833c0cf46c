"""Sends news to four readers, from a task of asyncio's.  The culprit: one of them has stopped
reading, and spread() waits for it for ever, so that the others get no news either; in the twin it
waits for none of them for longer than 0.1 s.
"""
import asyncio
import socket
import threading

from steady import Steady

run = Steady()
NEWS = b"It is said that all is well. " * 1000
READERS = 4
sent = 0


def read_all(port):
    with socket.create_connection(("127.0.0.1", port)) as server:
        while server.recv(1 << 16):
            pass


async def spread(readers):
    """One piece of news for all."""
    global sent
    for reader in list(readers):
        reader.write(NEWS)
        if run.twin:
            try:
                await asyncio.wait_for(reader.drain(), 0.1)
            except TimeoutError:
                readers.remove(reader)
                reader.transport.abort()
        else:
            await reader.drain()
    sent += 1


async def spread_all(readers):
    while not run.start or run.goes_on():
        await spread(readers)
        await asyncio.sleep(0.01)


async def main():
    readers = []

    async def welcome(_, reader):
        readers.append(reader)

    server = await asyncio.start_server(welcome, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for _ in range(READERS - 1):
        threading.Thread(target=read_all, args=(port,), name="reader", daemon=True).start()
    stuck = socket.create_connection(("127.0.0.1", port))
    spreader = asyncio.create_task(spread_all(readers))
    await asyncio.sleep(2.5)  # until its buffers are full
    run.ready()
    before = sent
    await asyncio.wait({spreader}, timeout=run.seconds)
    run.tell(sent_per_s=run.per_second(sent - before))
    stuck.close()
    server.close()
    spreader.cancel()


asyncio.run(main())
