"""An asyncio server with four workers that wait for orders in one queue, and with clients that have
nothing to say.  Healthy."""
import asyncio
import os
import socket
import time

from steady import Steady

run = Steady()
WORKERS = CLIENTS = 4
sent = []


async def send_mail(orders):
    while True:
        sent.append(await orders.get())
        orders.task_done()


async def take_orders(reader, writer, orders):
    while line := await reader.readline():
        await orders.put(line)
    writer.close()


def be_clients(port):
    """Another program: each client orders once."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
    for client in clients:
        client.sendall(b"order\n")
    time.sleep(run.seconds + 1)


async def main():
    orders = asyncio.Queue()
    server = await asyncio.start_server(lambda r, w: take_orders(r, w, orders), "127.0.0.1", 0)
    workers = [asyncio.create_task(send_mail(orders)) for _ in range(WORKERS)]
    run.start_apart(be_clients, server.sockets[0].getsockname()[1])
    await asyncio.sleep(0.3)
    run.ready()
    await asyncio.sleep(run.seconds)
    run.tell(sent=len(sent), workers=len(workers))
    os._exit(0)  # without a word about its tasks


asyncio.run(main())
