"""Asks a server on the same machine for the price of each ticket, with asyncio streams.

The culprit: the server, which adds each price up anew, some 8 ms; in the twin it knows it.  So no
wait of the loop is long: an answer comes before anybody could look up who sends it.
"""
import asyncio
import os
import socket
import time

from steady import Steady

run = Steady()


def add_up_price():
    price = 0
    for part in range(80000):
        price = (price * 31 + part) % 65521
    return price


def print_ticket():
    dots = 1
    for line in range(60000):
        dots = dots * 31 % 65521 + line
    return dots


def serve(listener):
    connection, _ = listener.accept()
    while connection.recv(100):
        if not run.twin:
            add_up_price()
        connection.sendall(b"price\n")


async def ask_price(reader, writer):
    writer.write(b"ticket\n")
    return await reader.readline()


async def sell_tickets(address):
    reader, writer = await asyncio.open_connection(*address)
    run.ready()
    waited_s = 0
    while run.goes_on():
        start = time.monotonic()
        await ask_price(reader, writer)
        waited_s += time.monotonic() - start
        print_ticket()
    run.tell(share=run.per_second(waited_s))
    writer.close()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        serve(listener)
        os._exit(0)
    asyncio.run(sell_tickets(listener.getsockname()))
    os.kill(server, 9)


main()
