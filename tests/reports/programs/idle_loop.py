"""Healthy: a server that has little to do."""
import asyncio
import os
import socket
import time

from account import Account

account = Account()


def page(name):
    with account.at("page"):
        return b"".join(b"<p>%s %d</p>" % (name, i) for i in range(1500))


async def serve(reader, writer):
    while name := await reader.read(100):
        writer.write(page(name))
        await writer.drain()
    writer.close()


def client(address):
    with socket.create_connection(address) as sock:
        while account.goes_on():
            sock.send(b"index")
            sock.recv(1 << 20)
            time.sleep(0.05)


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    account.ready()
    child = os.fork()
    if child == 0:
        client(server.sockets[0].getsockname())
        os._exit(0)
    await asyncio.sleep(account.end + 0.5 - time.monotonic())  # its last question is answered
    os.waitpid(child, 0)


asyncio.run(main())
account.tell()
