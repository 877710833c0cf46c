"""Healthy: workers wait for jobs, and none comes."""
import multiprocessing
import time

from account import Account

account = Account()


def worker(jobs):
    with account.at("worker"):
        while jobs.recv():
            pass


def serve(pipes):
    multiprocessing.connection.wait([ours for ours, _ in pipes], account.end - time.monotonic())
    for ours, _ in pipes:
        ours.send(None)


if __name__ == "__main__":
    pipes = [multiprocessing.Pipe() for _ in range(3)]
    account.ready()
    workers = [multiprocessing.Process(target=worker, args=(theirs,)) for _, theirs in pipes]
    for process in workers:
        process.start()
    serve(pipes)
    for process in workers:
        process.join()
    account.tell()
