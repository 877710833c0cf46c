"""Who waits for a cache's lock sleeps half a second, however soon it is free."""
import os
import tempfile
import time

from account import Account

account = Account()


def take(lock):
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def acquire_lock(lock):
    with account.at("acquire_lock"):
        while not take(lock):
            time.sleep(0.5)


def compile_kernel(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(500))


def sibling(lock):
    while account.goes_on():
        if take(lock):
            compile_kernel(0.2)
            os.unlink(lock)
        time.sleep(0.05)


def build(lock):
    acquire_lock(lock)
    compile_kernel(0.01)
    os.unlink(lock)


with tempfile.TemporaryDirectory() as folder:
    lock = os.path.join(folder, "lock")
    account.ready()
    child = os.fork()
    if child == 0:
        sibling(lock)
        os._exit(0)
    while account.goes_on():
        build(lock)
        compile_kernel(0.1)  # runs what was built
    os.waitpid(child, 0)
account.tell()
