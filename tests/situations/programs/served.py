"""What the programs share that serve HTTP: one client after the other, or in the twin each by a
thread.  Their clients are no part of them, and end with them."""
import http.server
import signal
import socket
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    done = 0  # requests, as a program counts them

    def answer(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def ask_again_and_again(address, path):
    """Until nobody answers."""
    while True:
        with socket.create_connection(address) as client:
            client.sendall(b"GET %s HTTP/1.0\r\n\r\n" % path.encode())
            if not client.recv(1 << 16):
                return
        time.sleep(0.02)


def start(run, handler, come, figure):
    """A server, whose clients COME to its address; at its end it tells what it has done a second as
    FIGURE."""
    kind = http.server.ThreadingHTTPServer if run.twin else http.server.HTTPServer
    server = kind(("127.0.0.1", 0), handler)

    def be_clients():
        server.server_close()
        come(server.server_address)

    def end(*_):
        run.tell(**{figure: run.per_second(handler.done)})
        sys.exit()

    run.start_apart(be_clients)
    run.has_rounds = False
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, run.seconds)
    run.ready()
    return server
