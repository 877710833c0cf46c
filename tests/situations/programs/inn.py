"""Two processes look after the guests of an inn.  The culprit: a process ends after each guest, and
the next one has to import everything anew; in the twin each looks after all that come.
"""
import asyncio
import doctest
import email.mime.text
import http.server
import multiprocessing
import time
import unittest.mock
import xml.etree.ElementTree
import xmlrpc.client

from steady import Steady

USED = (asyncio, doctest, email.mime.text, http.server, unittest.mock, xml.etree, xmlrpc.client)


def serve_guest(number):
    end = time.monotonic() + 0.005
    while time.monotonic() < end:
        number += 1
    return number


def main():
    run = Steady()
    served = 0
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(2, maxtasksperchild=None if run.twin else 1) as pool:
        pool.map(serve_guest, range(2))
        run.ready()
        while run.goes_on():
            served += len(pool.map(serve_guest, range(4), chunksize=1))
        run.tell(guests_per_s=run.per_second(served))


if __name__ == "__main__":
    main()
