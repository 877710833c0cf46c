"""Asks four other servers, and polls for the first answer.  The culprit: they have stopped
answering; in the twin they answer."""
import os
import select
import socket
import time

from steady import Steady

run = Steady()
SERVERS = 4


def answer(listener):
    connections = [listener.accept()[0] for _ in range(SERVERS)]
    while run.twin:
        for connection in connections:
            if not connection.recv(100):
                os._exit(0)
            connection.sendall(b"answer")
    time.sleep(run.seconds + 20)
    os._exit(0)


def first_answer(upstreams):
    poll = select.poll()
    for upstream in upstreams:
        poll.register(upstream, select.POLLIN)
    return poll.poll(int(1000 * run.seconds))


def work(value):
    for _ in range(60000):
        value = value * 31 % 65521
    return value


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    run.start_apart(answer, listener)
    upstreams = [socket.create_connection(listener.getsockname()) for _ in range(SERVERS)]
    run.ready()
    waited_s = 0
    while run.goes_on():
        for upstream in upstreams:
            upstream.sendall(b"question")
        start = time.monotonic()
        first_answer(upstreams)
        waited_s += time.monotonic() - start
        for upstream in upstreams:
            if run.twin:
                upstream.recv(100)
        work(1)
    run.tell(share=run.per_second(waited_s))


main()
