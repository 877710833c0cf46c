"""Eight cooks, who share three pots.  The culprit: who has a pot takes another one for the sauce
before giving it back, and once three have done so all wait for ever; in the twin each gives it back
before.
"""
import queue
import threading
import time

from steady import Steady

COOKS, POTS = 8, 3

run = Steady()
pots = queue.LifoQueue()
meals = [0] * COOKS


def take_pot():
    return pots.get()


def make_sauce():
    pot = take_pot()
    time.sleep(0.01)
    pots.put(pot)


def cook(number):
    pot = take_pot()
    time.sleep(0.02)
    if run.twin:
        pots.put(pot)
        make_sauce()
    else:
        make_sauce()
        pots.put(pot)
    meals[number] += 1


def work(number):
    while True:
        cook(number)


def main():
    for number in range(POTS):
        pots.put(number)
    for number in range(COOKS):
        threading.Thread(target=work, args=(number,), name=f"cook-{number}", daemon=True).start()
    time.sleep(0.5)
    run.has_rounds = False
    run.ready()
    before = sum(meals)
    while run.goes_on():
        time.sleep(0.05)  # it looks at the clock
    run.tell(meals_per_s=run.per_second(sum(meals) - before))


main()
