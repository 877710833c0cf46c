"""Publishes an album through a thread of its own.  The culprit: main is done, and the program does
not end, because the server does not answer the thread; in the twin main goes on with its work, and
the server answers."""
import os
import socket
import threading
import time

from steady import Steady

run = Steady()


def serve(listener):
    connection = listener.accept()[0]
    if not run.twin:
        time.sleep(run.seconds)
    while connection.recv(100):
        connection.sendall(b"answer")
    os._exit(0)


def ask_server(server, name):
    server.sendall(b"album %d" % name)
    return server.recv(100)


def publish(address):
    with socket.create_connection(address) as server:
        ask_server(server, 1)
        while run.twin and run.goes_on():
            ask_server(server, 1)
            time.sleep(0.5)
    run.tell(share=1)


def draw(value):
    for _ in range(60000):
        value = value * 31 % 65521
    return value


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    run.start_apart(serve, listener)
    threading.Thread(target=time.sleep, args=(run.seconds + 20,), daemon=True).start()
    threading.Thread(target=publish, args=[listener.getsockname()], name="publish").start()
    run.ready()
    while run.twin and run.goes_on():
        draw(1)


main()
