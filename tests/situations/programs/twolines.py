"""Grinds corn and rests in one function: it rests on one line and grinds on the next.  The rest
must have the line of the rest.  The twin does not rest."""
import json
import time

from steady import Steady

run = Steady()


def grind_corn(grains):
    return json.dumps([{"a": grain} for grain in range(grains)])


def work():
    while run.goes_on():
        time.sleep(0 if run.twin else 0.014)
        grind_corn(10000)


def main():
    start, cpu_s = time.monotonic(), time.process_time()
    run.ready()
    work()
    run.tell(share=1 - (time.process_time() - cpu_s) / (time.monotonic() - start))


main()
