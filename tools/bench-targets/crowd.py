"""What tests/accuracy/crowd.c does, in threads of Python's, which do not hold the GIL.

usage: crowd.py LIBCROWD plain|call|yield THREADS SECONDS
"""
import ctypes
import sys
import threading

WORKER_DOUBLES = 6


def main(path, how, count, seconds):
    crowd = ctypes.CDLL(path)
    crowd.crowd_begin(how.encode(), ctypes.c_double(float(seconds)))
    workers = (ctypes.c_double * WORKER_DOUBLES * int(count))()
    threads = [threading.Thread(target=crowd.crowd_work, args=[worker]) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    crowd.crowd_report(workers, int(count))


main(*sys.argv[1:])
