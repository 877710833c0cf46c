"""A driver holds the GIL while it waits for the bus, and a camera's thread stalls meanwhile."""
import ctypes
import threading

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
    with account.at("grab_frame", off_cpu=True):
        return sum(x & 15 for x in range(20000))


account.ready()
bus = threading.Thread(target=read_bus, name="bus")
bus.start()
while account.goes_on():
    grab_frame()
bus.join()
account.tell()
