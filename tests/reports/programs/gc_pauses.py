"""A server that is idle most of the time, but whose full collections stop it now and then."""
import collections
import gc
import socket
import threading
import time

from account import Account

account = Account()
collected = collections.Counter()
# What a model's server keeps for good, and the answers of the last requests.
weights = [[i] for i in range(400000)]
cache = collections.deque(maxlen=60)


def time_collection(phase, info):
    now = time.monotonic()
    collected["seconds"] += now - collected.pop("begin", now) if phase == "stop" else 0
    if phase == "start":
        collected["begin"] = now


def client(sock):
    while account.goes_on():
        sock.send(b"question")
        sock.recv(100)
        time.sleep(0.02)
    sock.close()


def handle(question):
    with account.at("handle"):
        cache.append([[question, i] for i in range(2500)])
    return b"answer"


ours, theirs = socket.socketpair()
gc.callbacks.append(time_collection)
account.ready()
threading.Thread(target=client, args=(theirs,), name="client").start()
while question := ours.recv(100):
    ours.send(handle(question))
account.tell(collections=collected["seconds"])
