"""A server that answers questions one after the other, and knows much.  The culprit: after each 60
answers it has the garbage collected, which looks at all it knows; the twin has frozen that before.
"""
import gc
import socket
import time

from steady import Steady

run = Steady()
FACTS = 900000
longest_s = 0.0


def ask(address):
    """Another program."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        end = time.monotonic() + run.seconds + 2
        while time.monotonic() < end:
            sock.sendto(b"what?", address)
            try:
                sock.recv(100)
            except OSError:
                return
            time.sleep(0.02)


def answer(number):
    global longest_s
    start = time.monotonic()
    if number % 60 == 59:
        gc.collect()
    longest_s = max(longest_s, time.monotonic() - start)
    return b"that"


def main():
    facts = [[number] for number in range(FACTS)]
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    run.start_apart(ask, sock.getsockname())
    if run.twin:
        gc.freeze()
    run.ready()
    while run.goes_on():
        _, address = sock.recvfrom(100)
        sock.sendto(answer(run.rounds), address)
    run.tell(longest_s=longest_s, facts=len(facts))


main()
