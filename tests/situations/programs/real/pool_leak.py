"""A shop whose four handlers each ask a pool for a connection.  The culprit: two were taken and
never given back, and there are no more.

usage: pool_leak.py SECONDS sqlalchemy|urllib3|httpx|psycopg|dbutils
"""
import contextlib
import functools
import http.server
import sqlite3
import sys
import threading
import time

from steady import Steady

CONNECTIONS, HANDLERS = 2, 4

run = Steady()


@contextlib.contextmanager
def web_server():
    """The address of one that answers at once."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"empty")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def of_sqlalchemy(_):
    import sqlalchemy
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.QueuePool,
                                      pool_size=CONNECTIONS, max_overflow=0, pool_timeout=60)
    return engine.connect


def of_urllib3(url):
    import urllib3
    pool = urllib3.connection_from_url(url, maxsize=CONNECTIONS, block=True)
    return functools.partial(pool.request, "GET", "/", preload_content=False)


def of_httpx(url):
    import httpx
    client = httpx.Client(limits=httpx.Limits(max_connections=CONNECTIONS), timeout=60)
    return functools.partial(client.send, client.build_request("GET", url), stream=True)


def of_psycopg(_):
    import psycopg
    import psycopg_pool

    class Connection(psycopg.Connection):
        @classmethod
        def connect(cls, *_, **__):
            return cls(psycopg.pq.PGconn.connect_start(b"host=/nowhere"))

        def _check_connection_ok(self):
            pass

    pool = psycopg_pool.ConnectionPool("", connection_class=Connection, min_size=CONNECTIONS,
                                       max_size=CONNECTIONS, timeout=60, open=True)
    return pool.getconn


def of_dbutils(_):
    import dbutils.pooled_db
    return dbutils.pooled_db.PooledDB(sqlite3, maxconnections=CONNECTIONS, blocking=True,
                                      database=":memory:").dedicated_connection


def list_orders(connect, taken):
    taken.append(connect())


def main():
    make = globals()[f"of_{sys.argv[-1]}"]
    with web_server() as url:
        connect, taken = make(url), []
        for _ in range(CONNECTIONS):
            list_orders(connect, taken)
        for number in range(HANDLERS):
            threading.Thread(target=list_orders, args=(connect, taken), name=f"handler-{number}",
                             daemon=True).start()
        run.ready()
        while run.goes_on():
            time.sleep(1)


main()
