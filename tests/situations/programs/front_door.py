"""Healthy: four processes take turns to accept a visitor, by a file's lock; visitors are few."""
import fcntl
import os
import socket
import tempfile
import time

from steady import Steady

WORKERS = 4

run = Steady()


def serve(listener, path):
    turn = os.open(path, os.O_RDWR | os.O_CREAT)
    while True:
        fcntl.flock(turn, fcntl.LOCK_EX)
        visitor, _ = listener.accept()
        fcntl.flock(turn, fcntl.LOCK_UN)
        with visitor:
            visitor.sendall(b"welcome")


def visit(address):
    while run.goes_on():
        with socket.create_connection(address) as line:
            line.recv(16)
        time.sleep(0.1)


def spawn(work, *args):
    child = os.fork()
    if not child:
        work(*args)
        os._exit(0)
    return child


def main():
    with tempfile.TemporaryDirectory() as folder:
        listener = socket.create_server(("127.0.0.1", 0))
        run.ready()
        workers = [spawn(serve, listener, folder + "/turn") for _ in range(WORKERS)]
        visitors = spawn(visit, listener.getsockname())
        os.waitpid(visitors, 0)
        for worker in workers:
            os.kill(worker, 9)
            os.waitpid(worker, 0)


main()
