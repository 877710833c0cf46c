"""Healthy: ten threads, each of which works every half second."""
import threading
import time

from account import Account

account = Account()
THREADS = 10


def solve():
    with account.at("solve"):
        return sum(x * x for x in range(40000))


def do_work(delta):
    last = time.perf_counter()
    while account.goes_on():
        rest = delta - (time.perf_counter() - last)
        if rest > 0:
            time.sleep(rest)
        else:
            last = time.perf_counter()
            solve()


account.ready()
threads = [threading.Thread(target=do_work, args=(0.5,), name=f"runner-{i}")
           for i in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
account.tell(threads=THREADS)
