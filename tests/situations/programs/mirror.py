"""A server of HTTP, whose reports ask it for its own rates.  The culprit: it answers one request
after the other, and so waits for itself; in the twin each has a thread.
"""
import http.server
import signal
import socket
import sys
import time
import urllib.request

from steady import Steady

run = Steady()
reports = 0


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        if self.path == "/report":
            self.make_report()
        self.send_response(204)
        self.end_headers()

    def make_report(self):
        global reports
        port = self.server.server_address[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/rates") as rates:
            reports += rates.status == 204

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def come(server):
    """A client, which is no part of the server, and ends with it."""
    address = server.server_address
    server.server_close()
    while True:
        with socket.create_connection(address) as client:
            client.sendall(b"GET /report HTTP/1.0\r\n\r\n")
            if not client.recv(1 << 16):
                return
        time.sleep(0.02)


def end(*_):
    run.tell(reports_per_s=run.per_second(reports))
    sys.exit()


def main():
    kind = http.server.ThreadingHTTPServer if run.twin else http.server.HTTPServer
    server = kind(("127.0.0.1", 0), Mirror)
    run.start_apart(come, server)
    run.has_rounds = False
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, run.seconds)
    run.ready()
    server.serve_forever()


main()
