"""A lock is a file, and who made it was killed."""
import os
import pathlib
import signal
import tempfile
import time

from account import Account

account = Account()


def compile_extension(lock):
    lock.touch(exist_ok=False)
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_baton(lock):
    with account.at("wait_for_baton"):
        while lock.exists() and account.goes_on():
            time.sleep(0.1)


def load(folder):
    wait_for_baton(pathlib.Path(folder, "lock"))


with tempfile.TemporaryDirectory() as folder:
    child = os.fork()
    if child == 0:
        compile_extension(pathlib.Path(folder, "lock"))
    os.waitpid(child, 0)
    account.ready()
    load(folder)
account.tell()
