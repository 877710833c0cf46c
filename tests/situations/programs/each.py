"""A server that starts a thread for each of its short tasks.  The culprit: the starts take longer
than the tasks; in the twin the threads of a pool live on.
"""
import concurrent.futures
import threading
import time

from steady import Steady

run = Steady()
starting_s = 0.0


def handle():
    end = time.thread_time() + 0.0002
    while time.thread_time() < end:
        pass
    time.sleep(0.001)


def start_threads(n):
    global starting_s
    threads = [threading.Thread(target=handle, name=f"handle-{i}") for i in range(n)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    starting_s += time.monotonic() - began
    return threads


def serve(pool):
    if run.twin:
        concurrent.futures.wait([pool.submit(handle) for _ in range(8)])
        return
    for thread in start_threads(8):
        thread.join()


def main():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        run.ready()
        while run.goes_on():
            serve(pool)
    run.tell(share=run.per_second(starting_s))


main()
