"""Rank 0 evaluates alone, and the others wait for it at the barrier."""
import multiprocessing
import time

from account import Account

account = Account()
RANKS = 4
barrier = multiprocessing.Barrier(RANKS)
goes_on = multiprocessing.Value("b", 1, lock=False)


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(500))


def train_epoch():
    compute(0.04)


def evaluate():
    compute(0.3)


def synchronize(rank):
    if rank == 0:
        barrier.wait()
        return
    with account.at("synchronize"):
        barrier.wait()


def work(rank):
    while goes_on.value:
        train_epoch()
        if rank == 0:
            evaluate()
            goes_on.value = account.goes_on()
        synchronize(rank)


account.ready()
told = account.in_children(RANKS, work)
account.tell(synchronize=told["synchronize"] * RANKS / (RANKS - 1))
