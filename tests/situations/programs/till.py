"""A till that notes its sales in a data base of SQLite.  The culprit: another program keeps its
transaction open while it writes a report; in the twin it has no transaction."""
import os
import sqlite3
import tempfile
import time

from steady import Steady

run = Steady()


def connect(path):
    return sqlite3.connect(path, timeout=60, isolation_level=None)


def write_report(path):
    base = connect(path)
    end = time.monotonic() + run.seconds
    while time.monotonic() < end:
        if not run.twin:
            base.execute("begin immediate")
        time.sleep(0.5)
        if not run.twin:
            base.execute("rollback")
        time.sleep(0.02)


def note_sale(base):
    start = time.monotonic()
    base.execute("begin immediate")
    base.execute("rollback")
    return time.monotonic() - start


def main():
    waited_s = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "sales.db")
        base = connect(path)
        base.execute("create table sales (day, what)")
        run.start_apart(write_report, path)
        run.ready()
        while run.goes_on():
            waited_s += note_sale(base)
            time.sleep(0.005)
        run.tell(share=run.per_second(waited_s))


main()
