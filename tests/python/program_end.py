"""A program that is over, but for a thread that is no daemon: does a dump say that the main thread
waits for that one to end?  Runs on 3.6 and later.

usage: program_end.py WALLSPY (without it: the target)"""

import os
import sys
import threading
import time

from support.outcome import end_with
from support.targets import Target
from support.wallspy import dump_json


def keep():
    os.write(1, b"ready\n")
    time.sleep(60)


def run_target():
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    threading.Thread(target=keep, name="keep").start()


def main(wallspy):
    with Target([sys.executable, os.path.abspath(__file__)], "ready") as target:
        time.sleep(0.3)
        (process,) = dump_json(wallspy, target.pid)["processes"]
    waits = [t["waits_for"] for t in process["threads"] if t["tid"] == target.pid]
    (keeper,) = [t["tid"] for t in process["threads"]
                 if any(f["name"].endswith("keep") for f in t["frames"])]
    print(waits, keeper)
    return [(w["kind"], w.get("tid")) for w in waits if w] == [("join", keeper)]


if len(sys.argv) == 1:
    run_target()
else:
    end_with(main, sys.argv[1])
