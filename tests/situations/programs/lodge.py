"""A lodge whose guests need a key of the board to go out.  The culprit: the cleaner takes both keys
and keeps them while the laundry, another process, washes; in the twin it puts them back before.
"""
import os
import queue
import socket
import threading
import time

from steady import Steady

GUESTS = 4

run = Steady()
board = queue.LifoQueue()
washed_s = 0


def take_key():
    return board.get()


def go_out():
    while run.goes_on():
        key = take_key()
        time.sleep(0.001)
        board.put(key)
        time.sleep(0.005)


def wash(laundry):
    global washed_s
    start = time.monotonic()
    laundry.send(b"s")
    laundry.recv(1)
    washed_s += time.monotonic() - start


def clean(laundry):
    while run.goes_on():
        keys = [take_key(), take_key()]
        if run.twin:
            for key in keys:
                board.put(key)
        wash(laundry)
        if not run.twin:
            for key in keys:
                board.put(key)
        time.sleep(0.1)
    laundry.close()


def wash_for(customer):
    while customer.recv(1):
        time.sleep(0.25)
        customer.send(b"s")
    os._exit(0)


def main():
    ours, theirs = socket.socketpair()
    if not os.fork():
        ours.close()
        wash_for(theirs)
    theirs.close()
    for key in range(2):
        board.put(key)
    threads = [threading.Thread(target=go_out, name=f"guest-{i}") for i in range(GUESTS)]
    threads.append(threading.Thread(target=clean, name="cleaner", args=(ours,)))
    run.ready()
    for thread in threads:
        thread.start()
    while run.goes_on():
        time.sleep(0.5)
    for thread in threads:
        thread.join()
    run.tell(share=run.per_second(washed_s))


main()
