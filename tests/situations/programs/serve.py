"""A server that also encodes what its clients uploaded, in three threads.

The culprit: the three compute in Python, so that the server waits for the GIL after each call; the
twin's threads encode in C, by a function that gives the GIL up, and rest in between.
"""
import hashlib
import os
import threading
import time

from steady import Steady

run = Steady()
UPLOAD = bytes(4 << 20)


def encode(data):
    value = 1
    for byte in data[:50000]:
        value = (value * 31 + byte) & 0xFFFFFF
    return value


def encode_in_c(data):
    hashlib.sha256(data).digest()
    time.sleep(0.03)


def encode_all():
    while run.goes_on():
        if run.twin:
            encode_in_c(UPLOAD)
        else:
            encode(UPLOAD)


def send_requests(out):
    """500 a second."""
    while os.write(out, b"r" * 100):
        time.sleep(0.002)


def start_clients():
    """Returns where their requests come from."""
    requests, out = os.pipe()
    run.start_apart(send_requests, out)
    os.close(out)
    return requests


def serve(requests):
    """Returns for how long it tried to read."""
    reading_s = 0
    while run.goes_on():
        start = time.monotonic()
        os.read(requests, 100)
        reading_s += time.monotonic() - start
    return reading_s


def main():
    requests = start_clients()
    run.ready()
    for number in range(3):
        threading.Thread(target=encode_all, name=f"encode-{number}", daemon=True).start()
    run.tell(share=run.per_second(serve(requests)))


main()
