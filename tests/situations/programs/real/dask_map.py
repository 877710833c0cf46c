"""Waits for a cluster of Dask's with two processes.  The culprit: simulate(), of both."""
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
    run.repeat(lambda: gather(client))


if __name__ == "__main__":
    main()
