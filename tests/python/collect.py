"""Garbage collections: [gc] stands where the collector was called, in the stack of the thread that
collects, also while its finalizers run and have given the GIL away, and in no other.  Runs on 3.7
and later.

usage: collect.py WALLSPY (without it: the target)"""

import gc
import os
import sys
import threading
import time

from support.targets import Target
from support.wallspy import dump_threads, record_folded


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        os.write(1, b"ready\n")
        os.read(0, 1)


def explicit():
    Cycle()
    gc.collect()


def by_allocation():
    """The collector is called by the 700th container or so, wherever it is made."""
    gc.set_threshold(100, 5, 5)
    Cycle()
    kept = []
    for _ in range(100000):
        kept.append([])


def other():
    gc.get_count()
    while True:
        pass


def busy():
    graph = [[] for _ in range(200000)]
    for i, node in enumerate(graph):
        node.append(graph[i - 1])
    often()


def often():
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        gc.collect()


def target(scene):
    gc.collect()
    if scene == "busy":
        busy()
        return
    threading.Thread(target=other, daemon=True).start()
    threading.Thread(target=explicit if scene == "explicit" else by_allocation, daemon=True).start()
    threading.Event().wait()


def dump(wallspy, scene):
    with Target([sys.executable, __file__, "target", scene], "ready") as process:
        time.sleep(0.1)
        threads = dump_threads(wallspy, process.pid)
    return [[frame["name"] for frame in t["frames"]] for t in threads]


def check_finalizer(wallspy, scene):
    stacks = dump(wallspy, scene)
    collecting = [names for names in stacks if "[gc]" in names]
    assert len(collecting) == 1, stacks
    names = collecting[0]
    finalizer = [i for i, name in enumerate(names) if name.endswith("__del__")]
    caller = names.index(scene)
    assert finalizer and finalizer[0] < names.index("[gc]") < caller, names


def check_busy(wallspy):
    stacks, _ = record_folded(wallspy, ["-q"], ["--", sys.executable, __file__, "target", "busy"])
    inside = sum(us for stack, us in stacks if "often" in stack and "[gc]" in stack)
    total = sum(us for stack, us in stacks if "often" in stack)
    assert all(stack.count("[gc]") < 2 for stack, _ in stacks), stacks
    print("%.0f%% of %d ms in collections" % (100 * inside / total, total / 1000))
    assert inside > 0.9 * total, [stack for stack, _ in stacks if "[gc]" not in stack]


def main():
    check_finalizer(sys.argv[1], "explicit")
    check_finalizer(sys.argv[1], "by_allocation")
    check_busy(sys.argv[1])


if __name__ == "__main__":
    target(sys.argv[2]) if sys.argv[1] == "target" else main()
