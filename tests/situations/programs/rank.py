"""Three ranks train together: each loads a batch and then all add up their gradients.

The culprit: rank 1 loads its batches from a store that takes 40 ms to answer, the others' take 2
ms, like all three in the twin.
"""
import collections
import contextlib
import json
import os
import socket
import subprocess
import sys
import time

from steady import Steady

RANKS = 3
run = Steady()


def load_batch(store):
    store.sendall(b"next")
    return store.recv(16)


def compute_gradient(batch):
    value = len(batch)
    end = time.thread_time() + 0.0006  # three ranks at once on two CPUs: hardly any waits for one
    while time.thread_time() < end:
        value = value * 31 % 65521
    return value


def all_reduce(peers, value):
    """Rank 0 adds up; PEERS are all others there, and rank 0 elsewhere."""
    for peer in peers:
        peer.sendall(value.to_bytes(8, "little"))
    return value + sum(int.from_bytes(peer.recv(8), "little") for peer in peers)


def train(store, peers, spent):
    """Adds to SPENT what it spends in loading and in all_reduce()."""
    while run.goes_on():
        start = time.monotonic()
        batch = load_batch(store)
        loaded = time.monotonic()
        spent["load"] += loaded - start
        gradient = compute_gradient(batch)
        start = time.monotonic()
        all_reduce(peers, gradient)
        spent["reduce"] += time.monotonic() - start


def serve_batches(store, seconds):
    for number in set(range(3, 50)) - {store.fileno()}:
        with contextlib.suppress(OSError):
            os.close(number)  # the ends that its client and other ranks are to see closed
    while store.recv(16):
        time.sleep(seconds)
        store.sendall(b"batch")


def connect_store(rank):
    near, far = socket.socketpair()
    run.start_apart(serve_batches, far, 0.04 if rank == 1 and not run.twin else 0.002)
    far.close()
    return near


def be_rank(rank, descriptors):
    store = connect_store(rank)
    peers = [socket.socket(fileno=number) for number in descriptors]
    spent = collections.Counter()
    run.ready()
    with contextlib.suppress(ConnectionError):  # another rank has come to its end
        train(store, peers, spent)
    if rank == 1:
        run.tell(share=run.per_second(spent["load"]))


def launch():
    """Starts the ranks, each as a command of its own, as launchers do."""
    pairs = [socket.socketpair() for _ in range(RANKS - 1)]
    ends = [[near.fileno() for near, _ in pairs], *([far.fileno()] for _, far in pairs)]
    ranks = [subprocess.Popen([sys.executable, *sys.argv, json.dumps(numbers)], pass_fds=numbers,
                              text=True,
                              stdout=subprocess.PIPE,
                              env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(RANKS)})
             for rank, numbers in enumerate(ends)]
    for near, far in pairs:
        near.close()
        far.close()
    for rank in ranks:
        rank.stdout.readline()
    run.ready(*(rank.pid for rank in ranks))
    for rank in ranks:
        print(rank.stdout.read(), end="")
        rank.wait()


if "RANK" in os.environ:
    be_rank(int(os.environ["RANK"]), json.loads(sys.argv[-1]))
else:
    launch()
