"""Fetches pages by a pool of four threads, and main waits for all.  The culprit: the server takes
0.2 s for each; in the twin it answers at once, and main parses the pages."""
import concurrent.futures
import os
import socket
import time

from page_server import serve_pages
from steady import Steady

run = Steady()


def fetch(address):
    with socket.create_connection(address) as server:
        server.sendall(b"get")
        return server.recv(100)


def parse(page):
    for _ in range(200000):
        page = bytes(page)
    return page


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        serve_pages(listener, 0 if run.twin else 0.2)
    waited_s = 0
    run.ready()
    with concurrent.futures.ThreadPoolExecutor(4, "fetcher") as pool:
        while run.goes_on():
            start = time.monotonic()
            pages = list(pool.map(fetch, [listener.getsockname()] * 8))
            waited_s += time.monotonic() - start
            if run.twin:
                for page in pages:
                    parse(page)
    os.kill(server, 9)
    run.tell(share=run.per_second(waited_s))


main()
