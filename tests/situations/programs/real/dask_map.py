"""Waits for a cluster of Dask's with two processes.  The culprit: simulate(), of both."""
import time

from dask.distributed import Client, LocalCluster
from steady import Steady


def simulate(number):
    return sum(item * item % 7 for item in range(number))


def gather(client):
    return client.gather(client.map(simulate, [2_000_000 + n for n in range(8)], pure=False))


def main():
    run = Steady()
    client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
    gather(client)
    run.ready()
    gathered_s = 0.0
    while run.goes_on():
        start = time.monotonic()
        gather(client)
        gathered_s += time.monotonic() - start
    run.tell(share=run.per_second(gathered_s))


if __name__ == "__main__":
    main()
