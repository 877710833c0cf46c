"""A server that answers from a table of rates.  The culprit: once a second refresh keeps the
table's lock for 0.2 s while it fetches new rates, and who asks meanwhile waits; in the twin it
fetches them first.
"""
import socket
import threading
import time

from steady import Steady

run = Steady()
table_lock = threading.Lock()
table = {}
longest_s = 0.0


def fetch_rates():
    time.sleep(0.2)
    return {"EUR": 1.0}


def refresh():
    while True:
        if run.twin:
            rates = fetch_rates()
            with table_lock:
                table.update(rates)
        else:
            with table_lock:
                table.update(fetch_rates())
        time.sleep(0.8)


def ask(sock):
    """Another program."""
    end = time.monotonic() + run.seconds + 2
    while time.monotonic() < end:
        try:
            sock.send(b"EUR")
            if not sock.recv(100):
                return
        except OSError:
            return
        time.sleep(0.02)


def look_up(name):
    global longest_s
    start = time.monotonic()
    with table_lock:
        rate = table.get(name)
    longest_s = max(longest_s, time.monotonic() - start)
    return b"%r" % rate


def main():
    ours, theirs = socket.socketpair()
    run.start_apart(ask, theirs)
    theirs.close()
    threading.Thread(target=refresh, name="refresh", daemon=True).start()
    run.ready()
    while run.goes_on():
        ours.send(look_up(ours.recv(100).decode()))
    run.tell(longest_s=longest_s)


main()
