"""The affinity of the parent is one CPU, and its workers inherit it."""
import os

from account import Account

account = Account()


def transform(rows):
    return sorted((row * 7919) % 10007 for row in rows)


def work(_):
    with account.at("transform", off_cpu=True):
        while account.goes_on():
            transform(range(5000))


os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
account.ready()
account.tell(**account.in_children(4, work))
