#!/usr/bin/env python3
"""Compares wallspy's shares with those of a program that knows how it spent its time.

usage: known_shares.py WALLSPY LIBSPEND PYTHON SEED [one|three]

How far they may be apart

wallspy gives a sample half of the gap before it and half of the gap behind it.  So all error comes
from changes: when the thread goes from place A to place B at a time that is D behind the middle of
a gap, A is given D too little and B D too much; D is negative before the middle.

Ticks lie on a grid of interval h, each anywhere within its interval.  Gaps G between ticks are h +
U - U' (U, U' uniform on [0, h)), so E G = h, E G^3 = 3/2 h^3.  A change comes at any time, so D is
uniform within its gap, and long gaps have more changes: E D = 0, Var D = E G^3 / 12 E G = 1/8 h^2.
That is if all ticks come when they are due.  On a busy machine they come late.  But no sample is
given more than two intervals: what is beyond is missed, [] in the file.  So with gaps of 2h
throughout Var D = h^2 / 3.  That is allowed for the part of the ticks that was late.  Changes
closer to each other than a gap have D's of opposite signs in part: their error is smaller.  A place
that is visited v times is entered and left v times each.  Hence

    variance(place) = 2 v * h^2 * (1 / 8 or, late, 1 / 3)

This is stratified sampling: less than the T h p (1 - p) of independent samples (the binomial),
where visits are longer than the interval.  The missed time may have been spent in any place.

Not allowed for: on a busy machine a tick comes later when the thread is on a CPU than when it
sleeps, so the means of D are not quite 0, and sleeping gains.  Quiet, places are off by 0.3
points at most; at a load of 4 to 6 on two CPUs sleeping gains 1 to 1.7.
"""
import json
import pathlib
import sys

from support.measure import measured, time_of_visits
from support.outcome import end_with
from support.wallspy import record

SECONDS = 9
# The smallest error in a place's share that is found; threads that share CPUs and the GIL make
# ticks late.
CATCHES = {"one": 0.035, "three": 0.045}
SPENDER = pathlib.Path(__file__).with_name("spender.py")


def amounts(recording, thread, truth, catches):
    """Of each place of the thread."""
    line = recording.line(thread)
    missed = line.missed(set(truth))
    total = sum(seconds for seconds, _ in truth.values())
    print(f"{line.name}: {total:.3f} s in these places, missed {missed:.3f} s")
    for place, (true, visits) in sorted(truth.items()):
        yield f"{thread}: {place}", time_of_visits(line.seconds_in(place), true, total, visits,
                                                   recording, catches=catches, unknown=missed)


def record_once(wallspy, library, python, seed, variant="one"):
    recording, stdout, _ = record(wallspy, ["-q", "-r", "100"],
                                  [python, SPENDER, library, seed, str(SECONDS), variant])
    facts = recording.facts
    print(f"seed {seed}, {facts['rate_hz']:.1f} Hz, {facts['late_ticks']} ticks late")
    # spend_sleeping is stopped for its registers, which undoes nothing.  What follows must not be
    # left out for it.
    print(f"{facts['registers_wanted']} stops for registers, {facts['backed_off']} samples left "
          f"out")
    assert facts["registers_wanted"] > 0
    assert facts["backed_off"] <= facts["stops"] // 100
    return dict(amount for thread, truth in json.loads(stdout).items()
                for amount in amounts(recording, thread, truth, CATCHES[variant]))


if __name__ == "__main__":
    end_with(measured, lambda: record_once(*sys.argv[1:]))
