"""A server of one parent and three children, each of which waits for the answers of another server.

The culprit: the other server takes 80 ms for each, in the twin none.  With --parent it is the
parent that is looked at: it only waits for its children; its twin computes beside them.
"""
import os
import socket
import sys
import time

from steady import Steady

run = Steady()
of_parent = "--parent" in sys.argv
CHILDREN = 3


def answer_slowly(listener):
    """The other server: a process for each connection."""
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            while connection.recv(100):
                time.sleep(0 if run.twin and not of_parent else 0.08)
                connection.sendall(b"answer")
            os._exit(0)
        connection.close()


def fetch(upstream):
    upstream.sendall(b"question")
    return upstream.recv(100)


def respond(answer):
    value = len(answer)
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        value = value * 31 % 65521
    return value


def serve(port, report):
    upstream = socket.create_connection(("127.0.0.1", port))
    waited_s = 0
    while run.goes_on():
        start = time.monotonic()
        answer = fetch(upstream)
        waited_s += time.monotonic() - start
        respond(answer)
        time.sleep(0.006)  # until the next request
    os.write(report, b"%f\n" % run.per_second(waited_s))


def start(work, *args):
    pid = os.fork()
    if pid == 0:
        try:
            work(*args)
        finally:
            os._exit(0)
    return pid


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    run.start_apart(answer_slowly, listener)
    shares, report = os.pipe()
    gate, opener = os.pipe()  # children begin when their pids have been told

    def child():
        os.read(gate, 1)
        run.end = time.monotonic() + run.seconds
        run.start = time.monotonic()
        serve(listener.getsockname()[1], report)

    children = [start(child) for _ in range(CHILDREN)]
    run.ready(*([os.getpid()] if of_parent else children))
    os.write(opener, b"g" * CHILDREN)
    while of_parent and run.twin and run.goes_on():
        respond(b"statistics")
    for pid in children:
        os.waitpid(pid, 0)
    run.tell(share=float(os.read(shares, 100).split()[0]))


main()
