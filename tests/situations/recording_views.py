#!/usr/bin/env python3
"""usage: recording_views.py JUDGE

Asks recordings of fixtures every question of docs/recording.md, and each view: all must answer.
Prints TAP.
"""
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

import fixtures

PAGE = fixtures.HERE.parent.parent / "docs/recording.md"
VIEWS = fixtures.HERE.parent.parent / "recording/views.sql"
# Together they have something to say to each question.
FIXTURES = ["demo", "mutex", "page-faults", "ranks", "asyncio"]


def questions():
    page = re.findall(r"^    (select [^;]*);", PAGE.read_text(encoding="utf-8"), re.M)
    views = re.findall(r"^CREATE VIEW (\w+)", VIEWS.read_text(encoding="utf-8"), re.M)
    return page + [f"select * from {view}" for view in views]


def record(judge, folder):
    for name in FIXTURES:
        file = pathlib.Path(folder, name + ".wallspy")
        subprocess.run([judge, "--keep", file, fixtures.path_of(name)], check=True)
        yield sqlite3.connect(file)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        recordings = list(record(sys.argv[1], folder))
        asked = questions()
        print(f"1..{len(asked) + 1}")
        for number, question in enumerate(asked, 1):
            rows = sum(len(one.execute(question).fetchall()) for one in recordings)
            print(f"{'not ' * (rows == 0)}ok {number} - {' '.join(question.split())}")
        whole = [one.execute("PRAGMA integrity_check").fetchone() == ("ok",) for one in recordings]
        print(f"{'not ' * (not all(whole))}ok {len(asked) + 1} - files are whole")


if __name__ == "__main__":
    main()
