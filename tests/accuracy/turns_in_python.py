"""The same as turns.c in Python: builds text for about a millisecond, sleeps 2 ms.

usage: turns_in_python.py python SECONDS
"""
import json
import os
import sys
import time

ROWS = [{"a": i, "b": str(i)} for i in range(2000)]
SCHEDSTAT = os.open("/proc/self/schedstat", os.O_RDONLY)


def queue_s():
    return int(os.pread(SCHEDSTAT, 100, 0).split()[1]) / 1e9


def build_text():
    return json.dumps(ROWS)


def take_a_nap():
    time.sleep(0.002)


def main(seconds):
    text_cpu_s = nap_cpu_s = nap_off_s = 0.0
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        cpu_s = time.thread_time()
        build_text()
        text_cpu_s += time.thread_time() - cpu_s
        wait_s, wall_s, cpu_s = queue_s(), time.monotonic(), time.thread_time()
        take_a_nap()
        cpu_s = time.thread_time() - cpu_s
        wall_s = time.monotonic() - wall_s
        nap_cpu_s += cpu_s
        nap_off_s += wall_s - cpu_s - (queue_s() - wait_s)
    print("build_text", text_cpu_s, 0)
    print("take_a_nap", nap_cpu_s, nap_off_s)
    # Nearly all else: to read this file takes a tenth of the time on some machines.
    print("queue_s", time.thread_time() - text_cpu_s - nap_cpu_s, 0)


main(float(sys.argv[2]))
