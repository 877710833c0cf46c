"""A server of gevent's, and a client in its hub.  The culprit: price() computes there, and all
greenlets wait for it.
"""
from gevent import monkey

monkey.patch_all()

import time
import urllib.request

import gevent
from gevent.pywsgi import WSGIServer
from steady import Steady

run = Steady()
longest_s = 0.0


def price(number):
    return sum(item * item % 7 for item in range(number))


def answer(environment, start):
    global longest_s
    began = time.monotonic()
    price(3_000_000)
    longest_s = max(longest_s, time.monotonic() - began)
    start("200 OK", [])
    return [b"done"]


def ask(port):
    while run.goes_on():
        urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()
        gevent.sleep(0.2)


server = WSGIServer(("127.0.0.1", 0), answer, log=None)
server.start()
run.ready()
gevent.spawn(ask, server.server_port).join()
run.tell(longest_s=longest_s)
