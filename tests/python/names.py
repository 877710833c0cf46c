"""What threads are called: by their program, however their objects keep it.  Runs on 3.6 and later.

usage: names.py WALLSPY (without it: the target)"""

import json
import os
import sys
import threading

from support.processes import wait_for_rest
from support.targets import Target
from support.wallspy import dump_threads, record_process

TO_KERNEL = (3, 14)  # from then on threading.py tells the kernel
KERNEL_BYTES = 15


class Mine(threading.Thread):
    def __init__(self, **options):
        super().__init__(daemon=True, **options)
        self.own = 1


def target():
    ended = threading.Event()
    names = [None, "reader", "sch\xf6n \u2603", "long" * 30] + ["pool-%d" % i for i in range(40)]
    threads = [threading.Thread(target=ended.wait, name=name, daemon=True) for name in names]
    threads.append(Mine(target=ended.wait, name="mine"))
    for thread in threads:
        thread.start()
    if sys.version_info < TO_KERNEL:
        threads[5].name = "renamed"
    threads[6].__dict__["more"] = 1
    for i in range(40):
        setattr(threads[7], "attribute_%d" % i, i)
    print(json.dumps([thread.name for thread in threads]), flush=True)
    sys.stdin.read()


def names(pid, wanted):
    """Of the threads that are recorded, where those that are WANTED are asked for."""
    run = record_process(sys.argv[1], ["-q", "-d", "1", "--thread", wanted], pid)
    return sorted(t["name"] for t in run.recording.facts["threads"])


def main():
    with Target([sys.executable, __file__]) as process:
        truth = json.loads(process.first)
        wait_for_rest(process.pid)
        threads = dump_threads(sys.argv[1], process.pid)
        chosen = names(process.pid, "reader,pool-1?")
    if sys.version_info >= TO_KERNEL:
        truth = [name.encode()[:KERNEL_BYTES].decode() for name in truth]
    got = sorted(t["name"] for t in threads if t["tid"] != process.pid)
    assert got == sorted(truth), (got, sorted(truth))
    assert chosen == sorted(["reader"] + ["pool-%d" % i for i in range(10, 20)]), chosen
    main_names = [t["name"] for t in threads if t["tid"] == process.pid]
    assert main_names == [os.path.basename(os.path.realpath(sys.executable))[:KERNEL_BYTES]] or \
        main_names == [os.path.basename(sys.executable)[:KERNEL_BYTES]], main_names


if __name__ == "__main__":
    main() if len(sys.argv) > 1 else target()
