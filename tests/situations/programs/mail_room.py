"""A clerk sorts what the van brings.  The culprit: unload() rings no bell, so the clerk looks into
the sack when its wait times out; in the twin the bell rings."""
import threading
import time

from steady import Steady

run = Steady()
sack = []
bell = threading.Condition()
waited_s = 0.0


def unload():
    while run.goes_on():
        time.sleep(0.05)
        with bell:
            sack.append("letter")
            if run.twin:
                bell.notify()


def await_letters():
    global waited_s
    start = time.monotonic()
    with bell:
        bell.wait_for(lambda: sack, timeout=0.5)
        letters, sack[:] = list(sack), []
    waited_s += time.monotonic() - start
    return letters


def sort(letters):
    return sorted(str(number) for number in range(20000 * min(len(letters), 3)))


def main():
    run.ready()
    van = threading.Thread(target=unload, name="van")
    van.start()
    while run.goes_on():
        sort(await_letters())
    share = run.per_second(waited_s)
    van.join()
    run.tell(share=share)


main()
