#!/usr/bin/env python3
"""Ten threads have a lock one after the other, and main waits behind all of them: does each holder
get as much of main's wait from the recording as from its own clock?

usage: convoy.py RECORDER KIND PROGRAM...

RECORDER: tests/situations/record_fixture.c, which writes what was recorded as fields.  KIND is
mutex or rwlock.

A lock is read at each tick, which comes at a random moment, so each change of the holder is told
with the error that a change of a place has (known_shares.py).  Where wallspy puts many readings
off, because they cost too much on this machine, short holds between two of them are not seen.
"""
import collections
import gzip
import pathlib
import re
import sys
import tempfile

from support.measure import EVEN, LATE, Amount, measured, require_seen
from support.outcome import end_with
from support.wallspy import FULL_RATE, succeed

SECONDS, RATE = 15, 100
# The smallest error in a holder's share of the wait that is found.
CATCHES = 0.017
UNKNOWN_MOST = 0.02  # of the wait: at most so much has no holder
PUT_OFF_MOST = 0.1  # of the readings
FIELD = re.compile(r'([\w.]+)=("(?:[^"\\]|\\.)*"|\S+)')


def rows_of(path):
    """(word, fields) of each row of a fixture."""
    with gzip.open(str(path), "rt", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            yield line.split(None, 1)[0], dict(FIELD.findall(line))


def shown_of(path, waiter, things=("mutex", "rwlock")):
    """{tid: seconds} of the thread WAITER's waits for a lock, one of THINGS, 0 for no known holder;
    and facts."""
    waits, sides, facts, shown, own = {}, {}, {}, collections.Counter(), False
    for word, fields in rows_of(path):
        if word == "wait" and fields.get("thing") in things:
            waits[fields["id"]] = fields
        elif word == "side":
            sides[fields["id"]] = int(fields.get("tid", 0))
        elif word == "metric":
            facts[fields["key"]] = float(fields["value"])
        elif word == "thread":
            own = int(fields["tid"]) == waiter
        elif word == "run" and own and fields.get("wait") in waits:
            shown[sides.get(fields.get("side"), 0)] += int(fields["wall"]) / 1e9
    return shown, facts


def truth_of(stdout):
    """The waiter, {tid: seconds of its waits}, for how long it waited, and how often."""
    lines = [line.split() for line in stdout.splitlines()]
    waiter = next(int(words[1]) for words in lines if words[0] == "waiter")
    waits = [tuple(map(int, words[1:])) for words in lines if words[0] == "waited"]
    true = collections.Counter()
    for tid, took, gives in (map(int, words[1:]) for words in lines if words[0] == "held"):
        true[tid] += sum(max(0, min(gives, end) - max(took, begin)) for begin, end in waits) / 1e9
    return waiter, true, sum(end - begin for begin, end in waits) / 1e9, len(waits)


def record_once(recorder, kind, program):
    with tempfile.TemporaryDirectory() as folder:
        fixture = pathlib.Path(folder, "fixture.gz")
        ran = succeed([recorder, "-q", *FULL_RATE, "-r", RATE, "-o", "none", "--", *program, kind,
                       SECONDS], environment={"WALLSPY_FIXTURE": str(fixture)}, timeout=60)
        waiter, true, total, n = truth_of(ran.stdout)
        shown, facts = shown_of(fixture, waiter)
    unknown = shown.pop(0, 0)
    interval = 1 / facts["rate_hz"]
    put_off = facts.get("locks_put_off", 0) * interval / total
    require_seen(put_off <= PUT_OFF_MOST,
                 f"{put_off:.0%} of the lock's readings cost too much")
    change = EVEN + min(1, facts.get("late_ticks", 0) * interval / total) * (LATE - EVEN)
    variance = 2 * n * change * interval**2
    print(f"{kind}: {n} waits, {total:.3f} s, by the recording {sum(shown.values()):.3f} s and "
          f"{unknown:.3f} s for nobody; {facts.get('late_ticks', 0):.0f} ticks late")
    for tid, seconds in true.items():
        print(f"  {tid}: {shown[tid] / n * 1e3:7.2f} ms a wait, true {seconds / n * 1e3:7.2f}, "
              f"{(shown[tid] - seconds) / variance**0.5:+.1f} sigma")
    others = sum(seconds for tid, seconds in shown.items() if tid not in true)
    assert not others, f"{others:.3f} s for threads that never had it: {shown}"
    require_seen(unknown <= UNKNOWN_MOST * total, f"{unknown / total:.1%} without a holder")
    return {f"holder {i}": Amount(shown[tid], seconds, total, variance, catches=CATCHES,
                                  unknown=unknown)
            for i, (tid, seconds) in enumerate(true.items())}


def main(recorder, kind, *program):
    return measured(lambda: record_once(recorder, kind, program))


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
