"""A driver holds the GIL while it waits for the bus, and a camera's thread stalls meanwhile."""
import ctypes
import threading
import time

from account import Account

account = Account()
libc = ctypes.PyDLL(None)  # as a binding that does not release the GIL


def sync_read():
    """As poll() with no descriptor: the motors answer after 15 ms."""
    libc.poll(None, 0, 15)


def read_bus():
    while account.goes_on():
        sync_read()


def grab_frame():
    return sum(x & 15 for x in range(20000))


account.ready()
bus = threading.Thread(target=read_bus, name="bus")
bus.start()
before = time.thread_time()
while account.goes_on():
    grab_frame()
waits = time.monotonic() - account.start - (time.thread_time() - before)
bus.join()
account.tell(waits_for_gil=waits)
