"""Four handlers that log each booking.  The culprit: who reads the log takes 2 ms a line, so the
handler that writes has the logger's lock for so long; in the twin the reader is fast."""
import logging
import os
import threading
import time

from steady import Steady

HANDLERS = 4
run = Steady()
waited_s = [0.0] * HANDLERS


def read_log(log):
    while os.read(log, 300):
        if not run.twin:
            time.sleep(0.002)
    os._exit(0)


def book(number):
    start = time.monotonic()
    logging.info("booked %d: %s", number, "x" * 280)
    waited_s[number] += time.monotonic() - start


def handler(number):
    while run.goes_on():
        book(number)
        time.sleep(0.001)


def main():
    log, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        read_log(log)
    os.close(log)
    logging.basicConfig(level=logging.INFO, stream=os.fdopen(writer, "w"))
    run.ready()
    handlers = [threading.Thread(target=handler, name="handler", args=[number])
                for number in range(HANDLERS)]
    for thread in handlers:
        thread.start()
    for thread in handlers:
        thread.join()
    os.kill(pid, 9)
    run.tell(waited=run.per_second(sum(waited_s)) / HANDLERS)


main()
