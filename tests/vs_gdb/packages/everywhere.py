"""Runs functions without end, each in a thread of its own, and all of them in the main thread."""
import itertools
import threading


def running():
    print("running", flush=True)


def again_and_again(function):
    while True:
        function()


def forever(*functions):
    for function in functions:
        threading.Thread(target=again_and_again, args=(function,), daemon=True).start()
    running()
    for function in itertools.cycle(functions):
        function()
