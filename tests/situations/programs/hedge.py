"""Checks names by a pattern.  The culprit: one text makes the pattern go back and forth for ever;
the twin's texts fit.  A thread answers small questions beside it."""
import re
import threading
import time

from steady import Steady

run = Steady()
NAME = re.compile(r"^(\w+\s?)*$")


def check_name(text):
    return NAME.match(text)


def answer():
    while True:
        sum(range(100))
        time.sleep(0.01)


def main():
    threading.Thread(target=answer, name="answer", daemon=True).start()
    run.ready()
    while run.goes_on():
        check_name("a" * 60 + "!" * (not run.twin))


main()
