"""Reads a gauge again and again: it sends, waits for the answer by an epoll of its own, receives,
as libraries do that have no event loop.  The culprit: the gauge takes 0.4 s for an answer, the
twin's none."""
import select
import socket
import time

from steady import Steady

run = Steady()
waited_s = 0.0


def serve(server):
    client, _ = server.accept()
    while client.recv(100):
        time.sleep(0 if run.twin else 0.4)
        client.sendall(b"7")


def read_gauge(client):
    global waited_s
    with select.epoll() as epoll:
        epoll.register(client, select.EPOLLIN)
        client.sendall(b"?")
        start = time.monotonic()
        epoll.poll()
        waited_s += time.monotonic() - start
    return client.recv(10)


def note_all(client):
    while run.goes_on():
        read_gauge(client)
        sum(range(1000000))


def main():
    server = socket.create_server(("127.0.0.1", 0))
    run.start_apart(serve, server)
    client = socket.create_connection(server.getsockname())
    server.close()
    run.ready()
    note_all(client)
    run.tell(share=run.per_second(waited_s))


main()
