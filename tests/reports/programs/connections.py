"""Handlers keep a connection to the data base while they ask somebody else."""
import queue
import threading
import time

from account import Account

account = Account()
pool = queue.Queue()
HANDLERS = 8


def get_connection():
    with account.at("get_connection"):
        return pool.get()


def ask_partner():
    with account.at("ask_partner"):
        time.sleep(0.04)


def handle():
    connection = get_connection()
    ask_partner()
    pool.put(connection)


def serve():
    while account.goes_on():
        handle()


for connection in range(2):
    pool.put(connection)
account.ready()
handlers = [threading.Thread(target=serve, name=f"handler-{i}") for i in range(HANDLERS)]
for handler in handlers:
    handler.start()
for handler in handlers:
    handler.join()
account.tell(threads=HANDLERS)
