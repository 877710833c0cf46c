"""A Python program that keeps its own account, for tools/bench-python: accounts.py SECONDS.

Each round of main asks four functions for the same amount of work, whatever the time: many small
calls in Python, one loop in Python, calls of C code, and a wait for a thread's answer.  Prints
"ready", and at the end as JSON the rounds a second and the part of main's time in each function.
"""
import json
import queue
import sys
import threading
import time
import zlib

TEXT = b"all the world's a stage, and all the men and women merely players " * 6000
spent_s = {}
questions, answers = queue.Queue(), queue.Queue()


def is_vowel(letter):
    return letter in "aeiou"


def count_vowels():
    return sum(1 for letter in TEXT.decode()[:24000] if is_vowel(letter))


def add_squares():
    total = 0
    for number in range(60000):
        total += number * number
    return total


def pack_text():
    return len(zlib.compress(TEXT, 6))


def answer_all():
    while questions.get():
        time.sleep(0.006)
        answers.put("yes")


def ask():
    questions.put("?")
    return answers.get()


def time_of(function):
    start = time.perf_counter()
    function()
    spent_s[function.__name__] = spent_s.get(function.__name__, 0) + time.perf_counter() - start


def main():
    threading.Thread(target=answer_all, daemon=True).start()
    print("ready", flush=True)
    start = time.perf_counter()
    end = start + float(sys.argv[1])
    rounds = 0
    while time.perf_counter() < end:
        for function in (count_vowels, add_squares, pack_text, ask):
            time_of(function)
        rounds += 1
    took_s = time.perf_counter() - start
    print(json.dumps({"rounds_per_s": rounds / took_s,
                      "parts": {name: part / took_s for name, part in spent_s.items()}}))


main()
