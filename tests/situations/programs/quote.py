"""Answers requests, while a thread keeps the prices up to date.  usage: quote.py SECONDS [--twin]
LIBTARIFF

The culprit: the library that looks prices up is called with the GIL held (PyDLL), and waits; the
twin gives the GIL up for the call (CDLL).
"""
import ctypes
import sys
import threading
import time

from steady import Steady

run = Steady()
library = (ctypes.CDLL if run.twin else ctypes.PyDLL)(sys.argv[-1])
prices = {}


def refresh():
    item = 0
    while run.goes_on():
        prices[item % 100] = library.tariff_price(item)
        item += 1


def answer(request):
    total = sum(prices.get(item, 0) for item in range(50))
    return request + total


def main():
    """Between two requests it waits for 2 ms."""
    late_s = 0
    run.ready()
    threading.Thread(target=refresh, name="refresh").start()
    request = 0
    while run.goes_on():
        start = time.monotonic()
        time.sleep(0.002)
        late_s += time.monotonic() - start - 0.002
        request = answer(request)
    run.tell(share=run.per_second(late_s))


main()
