"""Keeps a large graph and answers questions about it.  The culprit: after each answer it has the
garbage collected, to save memory; the twin leaves that to Python.
"""
import gc
import time

from steady import Steady

run = Steady()
collecting_s = 0.0
started = 0.0


def clock_collector(phase, _):
    global collecting_s, started
    if phase == "start":
        started = time.monotonic()
    else:
        collecting_s += time.monotonic() - started


def make_graph(size):
    nodes = [{"edges": []} for _ in range(size)]
    for number, node in enumerate(nodes):
        node["edges"].append(nodes[number * 7 % size])
    return nodes


def walk(node):
    steps = 0
    end = time.monotonic() + 0.04
    while time.monotonic() < end:
        node = node["edges"][0]
        steps += 1
    return steps


def main():
    graph = make_graph(150000)
    gc.callbacks.append(clock_collector)
    run.ready()
    while run.goes_on():
        walk(graph[5])
        if not run.twin:
            gc.collect()
    run.tell(share=run.per_second(collecting_s))


main()
