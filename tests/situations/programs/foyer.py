"""The doors of a theatre, which all tell the box office at once how many came in.

The culprit: the box office lets five connections wait to be accepted, as socketserver does by
default, so that the kernel drops the others' requests, and sends them again after a second; the
twin lets them all wait.
"""
import socket
import socketserver
import threading
import time

from steady import Steady

DOORS = 16
COUNT_S = 0.02  # a count
run = Steady()


class Count(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()
        time.sleep(0.002)
        self.wfile.write(b"noted\n")


class BoxOffice(socketserver.TCPServer):
    request_queue_size = 128 if run.twin else 5


def tell_count(office):
    """Returns for how long it connected."""
    start = time.monotonic()
    with socket.create_connection(office, timeout=30) as line:
        connected = time.monotonic()
        line.sendall(b"12 came in\n")
        line.recv(16)
    return connected - start


def watch_door(office, everybody, connecting_s):
    while True:
        time.sleep(COUNT_S)
        connecting_s.append(tell_count(office))
        everybody.wait()


def main():
    everybody = threading.Barrier(DOORS + 1)
    connecting_s = []
    with BoxOffice(("127.0.0.1", 0), Count) as server:
        threading.Thread(target=server.serve_forever, name="box-office", daemon=True).start()
        for number in range(DOORS):
            threading.Thread(target=watch_door, name=f"door-{number}", daemon=True,
                             args=(server.server_address, everybody, connecting_s)).start()
        run.ready()
        while run.goes_on():
            everybody.wait()
        run.tell(share=run.per_second(sum(connecting_s)) / DOORS)


main()
