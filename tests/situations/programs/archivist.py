"""An archive that a command indexes.  The culprit: store() keeps the archive's lock, a file's, for
as long as the command takes, which wants that, too.  In the twin the command does without.
"""
import fcntl
import subprocess
import sys
import tempfile
import threading
import time

from steady import Steady

COMMAND = """
import fcntl, sys
if len(sys.argv) > 1:
    fcntl.flock(open(sys.argv[1], "w"), fcntl.LOCK_EX)
print("indexed")
"""

run = Steady()


def run_indexer(path):
    """Ends the command after a while: only so does the test end."""
    command = [sys.executable, "-c", COMMAND] + ([] if run.twin else [path])
    with subprocess.Popen(command, stdout=subprocess.PIPE) as indexer:
        threading.Timer(max(0.1, run.end - time.monotonic()), indexer.kill).start()
        indexer.stdout.read()


def store(path):
    while run.goes_on():
        with open(path, "w") as archive:
            fcntl.flock(archive, fcntl.LOCK_EX)
            run_indexer(path)


def take_in(folder):
    while run.goes_on():
        with open(folder + "/paper", "w") as paper:
            paper.write("some words")
        time.sleep(0.02)


def main():
    with tempfile.TemporaryDirectory() as folder:
        keeper = threading.Thread(target=store, name="store", args=(folder + "/lock",))
        run.ready()
        keeper.start()
        take_in(folder)
        keeper.join()


main()
