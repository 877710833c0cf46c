"""A process pool whose tasks are much shorter than their messages."""
import concurrent.futures

from account import Account

account = Account()


def score(number):
    return number * number


def score_all(pool, numbers):
    with account.at("score_all"):
        return sum(pool.map(score, numbers))


with concurrent.futures.ProcessPoolExecutor(2) as pool:
    score_all(pool, range(10))
    account.ready()
    while account.goes_on():
        score_all(pool, range(3000))
account.tell()
