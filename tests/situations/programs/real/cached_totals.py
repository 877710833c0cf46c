"""Six threads add up the turnover of branches, each of another one.  The culprit: until Python 3.12
functools.cached_property has one lock for all of them."""
import functools
import threading
import time

from steady import Steady

run = Steady()


class Branch:
    @functools.cached_property
    def turnover(self):
        time.sleep(0.05)  # it asks the branch
        return 1


def add_up():
    while run.goes_on():
        if not Branch().turnover:
            return


run.ready()
threads = [threading.Thread(target=add_up, name=f"branch-{number}") for number in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
