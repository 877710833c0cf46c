"""A server of HTTP that answers its clients one after the other.  The culprit: the first client has
connected and asks for nothing, as browsers do ahead of time, and the server waits for it while
others wait to be accepted; in the twin each client has a thread.
"""
import http.server
import signal
import socket
import sys
import time

from steady import Steady

run = Steady()
answers = 0


class Desk(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        global answers
        answers += 1
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def come(server):
    """The clients, which are no part of the server, and end with it."""
    address = server.server_address
    server.server_close()
    with socket.create_connection(address):
        time.sleep(0.2)
        while True:
            with socket.create_connection(address) as client:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                if not client.recv(1 << 16):
                    return
            time.sleep(0.02)


def end(*_):
    run.tell(answers_per_s=run.per_second(answers))
    sys.exit()


def main():
    kind = http.server.ThreadingHTTPServer if run.twin else http.server.HTTPServer
    server = kind(("127.0.0.1", 0), Desk)
    run.start_apart(come, server)
    run.has_rounds = False
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, run.seconds)
    run.ready()
    server.serve_forever()


main()
