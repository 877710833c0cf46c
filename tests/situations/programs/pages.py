"""A server with a thread for each request.  The culprit: load_page() asks a store that takes 50 ms;
in the twin the store answers at once, and requests are rare."""
import http.server
import os
import socket
import threading
import time
import urllib.request

from page_server import serve_pages
from steady import Steady

CLIENTS = 3
run = Steady()


def read_pages(url):
    while True:
        with urllib.request.urlopen(url) as page:
            page.read()
        if run.twin:
            time.sleep(0.3)


def be_others(listener, url):
    """The store and the clients, which complain of nothing when the server ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for _ in range(CLIENTS):
        threading.Thread(target=read_pages, args=[url], daemon=True).start()
    seconds = 0 if run.twin else 0.05
    threading.Thread(target=serve_pages, args=[listener, seconds], daemon=True).start()
    time.sleep(run.seconds + 2)


def load_page(address):
    with socket.create_connection(address) as store:
        store.sendall(b"get")
        return store.recv(100)


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = load_page(self.server.store)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


def main():
    store = socket.create_server(("127.0.0.1", 0))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.store = store.getsockname()
    run.start_apart(be_others, store, f"http://127.0.0.1:{server.server_port}/")
    run.ready()
    threading.Timer(run.seconds, server.shutdown).start()
    server.serve_forever()
    run.tell(threads=CLIENTS)


main()
