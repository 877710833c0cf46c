"""Packs parcels for a queue that keeps the latest one only.  The culprit: a parcel that is dropped
reports itself to the same queue, whose lock its thread holds; a twin's parcels do not report.  A
third thread notes the time, so that not all threads wait for good."""
import queue
import threading
import time

from steady import Steady

run = Steady()


class Latest(queue.Queue):
    def _init(self, maxsize):
        self.slot = None

    def _qsize(self):
        return self.slot is not None

    def _put(self, item):
        self.slot = item  # the one before goes, and says so

    def _get(self):
        item, self.slot = self.slot, None
        return item


parcels = Latest()


class Parcel:
    def __init__(self, number):
        self.number = number

    def __del__(self):
        if not run.twin:
            parcels.put(f"lost {self.number}")


def pack_parcels():
    for number in range(1000):
        parcels.put(Parcel(number))
        time.sleep(0.01)


def deliver():
    time.sleep(0.1)
    while True:
        parcels.get()
        time.sleep(0.05)


def note_time():
    while True:
        time.sleep(0.2)


for work in (deliver, note_time):
    threading.Thread(target=work, name=work.__name__, daemon=True).start()
threading.Timer(0.3, run.ready).start()
pack_parcels()
