"""Looks places up in an atlas, a module that is imported when it is first needed.  The culprit: the
thread warm-up imports it, which takes very long, and main waits for that; in the twin it does not.
"""
import os
import signal
import sys
import tempfile
import threading
import time

from steady import Steady

run = Steady()
found = 0
ATLAS = "import time\n\ndef read_maps():\n    time.sleep({})\n\nread_maps()\n"


def warm_up():
    import atlas_data  # pylint: disable=import-outside-toplevel,import-error,unused-import


def locate(place):
    import atlas_data  # pylint: disable=import-outside-toplevel,import-error
    return atlas_data, place


def end(*_):
    run.tell(found_per_s=run.per_second(found))
    os._exit(0)


def main():
    global found
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "atlas_data.py"), "w", encoding="ascii") as module:
            module.write(ATLAS.format(0.01 if run.twin else 1000))
        sys.path.insert(0, folder)
        threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
        time.sleep(0.3)
    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, run.seconds)
    run.has_rounds = False
    run.ready()
    while True:
        locate("Utrecht")
        found += 1
        time.sleep(0.01)


main()
