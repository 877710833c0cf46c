"""Asks a server on the same machine for the price of each order, over one TCP connection.

The culprit: the server, whose main thread only accepts connections, adds each price up anew; in the
twin it knows it.  --timeout: each answer has one, so that Python polls before it reads.
"""
import os
import socket
import socketserver
import sys
import time

from steady import Steady

run = Steady()


def add_up_price():
    price = 0
    for part in range(300000):
        price = (price * 31 + part) % 65521
    return price


def note_price():
    note = 1
    for digit in range(30000):
        note = note * 31 % 65521 + digit
    return note


class Server(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(100):
            if not run.twin:
                add_up_price()
            self.request.sendall(b"price")


def serve(listener):
    with socketserver.ThreadingTCPServer(listener.getsockname(), Server, False) as server:
        server.socket.close()
        server.socket = listener
        server.serve_forever()


def ask_price(connection):
    connection.sendall(b"order")
    return connection.recv(100)


def take_orders(connection):
    waited_s = 0
    while run.goes_on():
        start = time.monotonic()
        ask_price(connection)
        waited_s += time.monotonic() - start
        note_price()
    run.tell(share=run.per_second(waited_s))


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        serve(listener)
    connection = socket.create_connection(listener.getsockname())
    connection.settimeout(60 if "--timeout" in sys.argv else None)
    listener.close()
    run.ready()
    take_orders(connection)
    os.kill(server, 9)


main()
