#!/usr/bin/env python3
"""Compares wallspy's shares with those of a program that knows how it spent its time.

usage: known_shares.py WALLSPY LIBSPEND PYTHON SEED [one|three]

How far they may be apart

wallspy gives a thread's time from one sample to the next to the earlier one.  So all error comes
from changes: when the thread goes from place A to place B at time c, A is given R too much and B R
too little, R being the time from c to the next tick.  A place that is visited v times is entered
and left v times each, so its error is the sum of v times R (left) less the sum of v times R
(entered): the mean of R cancels, and its variance remains.

Ticks lie on a grid of interval h, each anywhere within its interval.  Gaps G between ticks are h +
U - U' (U, U' uniform on [0, h)), so E G = h, E G^2 = 7/6 h^2, E G^3 = 3/2 h^3.  Seen from a change
at any time, the time to the next tick has E R = E G^2 / 2 E G = 7/12 h and E R^2 = E G^3 / 3 E G =
1/2 h^2: Var R = 0.16 h^2.  That is if all ticks come when they are due.  On a busy machine they
come late.  But no sample is given more than two intervals: what is beyond is missed, [] in the
file.  So R <= 2h, and with gaps of 2h throughout R is uniform on [0, 2h): Var R = h^2 / 3.  This is
what is allowed for.  Changes closer to each other than a gap have R in common, with opposite signs:
their error is smaller.  Hence

    sigma(place) = h * sqrt(2 v / 3)

This is stratified sampling: less than the sqrt(T h p (1 - p)) of independent samples (the
binomial), where visits are longer than the interval.  The missed time may have been spent in any
place.

    truth - missed - 3 sigma <= shown <= truth + 3 sigma

Not allowed for: on a busy machine a tick comes later when the thread is on a CPU than when it
sleeps, so the means of R do not quite cancel, and sleeping gains.  Quiet, places were off by 0.3
points at most; at a load of 4 to 6 on two CPUs sleeping gained 1 to 1.7, where 2.1 to 2.5 are
allowed.
"""
import json
import math
import pathlib
import sys

from support.outcome import end_with
from support.wallspy import record

SECONDS = 8
SPENDER = pathlib.Path(__file__).with_name("spender.py")


def tolerance(interval_s, visits):
    return 3 * interval_s * math.sqrt(2 * visits / 3)


def compare(recording, thread, truth):
    """Prints a line for each place; returns how many were wrong."""
    line = recording.line(thread)
    missed = line.missed(set(truth))
    total = sum(seconds for seconds, _ in truth.values())
    print(f"{line.name}: {total:.3f} s in these places, missed {missed:.3f} s")
    wrong = 0
    for place, (true, visits) in sorted(truth.items()):
        shown, allowed = line.seconds_in(place), tolerance(recording.interval_s, visits)
        ok = true - missed - allowed <= shown <= true + allowed
        wrong += not ok
        print(f"  {place:16} true {true / total:6.2%}  shown {shown / total:6.2%}  off by "
              f"{(shown - true) / total:+6.2%}"
              f"  3 sigma {allowed / total:.2%} ({visits} visits){'' if ok else '  WRONG'}")
    return wrong


def main():
    wallspy, library, python, seed, *variant = sys.argv[1:]
    run = record(wallspy, ["-q", "-r", "100"],
                 [python, SPENDER, library, seed, str(SECONDS), *variant])
    facts = run.recording.facts
    print(f"seed {seed}, {facts['rate_hz']:.1f} Hz, {facts['late_ticks']} ticks late")
    wrong = sum(compare(run.recording, *item) for item in json.loads(run.stdout).items())
    # spend_sleeping is stopped for its registers, which undoes nothing.  What follows must not be
    # left out for it.
    print(
        f"{facts['registers_wanted']} stops for registers, {facts['backed_off']} samples left out")
    wrong += facts["registers_wanted"] == 0 or facts["backed_off"] > facts["stops"] // 100
    return not wrong


if __name__ == "__main__":
    end_with(main)
