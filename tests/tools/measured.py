#!/usr/bin/env python3
"""tests/support/measure.py by simulated recordings: how often does a right one fail by chance, and
is an error of the claimed size caught?

usage: measured.py
"""
import collections
import contextlib
import io
import random
import subprocess
import sys
import unittest

from support.measure import (MOST_ANEW, MOST_PIECES, Amount, Found, Others, chance_of_most,
                             measured, require_seen, share_of_samples, unless_others)
from support.outcome import Skipped

HEALTHY, WRONG = 100_000, 10_000
# Of HEALTHY runs 0.7 are expected at most.
MOST_REDS = 4
LEAST_CAUGHT = 0.99
# A share, the samples of a recording, the smallest error that it can catch.
SHARES = [(0.3, 800, 0.09), (0.5, 5000, 0.04), (0.02, 600, 0.05), (0.97, 600, 0.06),
          (0.001, 1500, 0.02)]
# With what probability each is found at least, how many are there, what is caught.
FOUND = [(0.95, 31, 0.5), (0.9, 40, 0.5), (0.95, 140, 0.2), (0.99, 900, 0.06)]


class Stage:
    """In the place of Others: each recording has the next of USED."""

    def __init__(self, *used):
        self.uses = iter(used)
        self.used = 0

    def __call__(self):
        other = Stage()
        other.used = next(self.uses)
        return other

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def are_too_many(self, most):
        return self.used > most * 2

    def __str__(self):
        return f"others used {self.used:.1f} of 2 CPUs"


def quiet():
    return Stage(*[0] * 2)


def binomial(chance, n, p):
    """A function that draws so often how many of N are there, each with probability P."""
    sums = chance_of_most(n, p)
    return lambda times: chance.choices(range(n + 1), cum_weights=sums, k=times)


def red(record_once):
    """Does a run of the check fail?"""
    with contextlib.redirect_stdout(io.StringIO()):
        return not measured(record_once, meter=quiet())


def count_reds(draw, amount_of, runs):
    """As red(), but runs that are alike are judged once, and what needs no second look is not
    printed: a hundred thousand of them take time."""
    reds = 0
    for drawn, times in collections.Counter(zip(draw(runs), draw(runs))).items():
        first, second = map(amount_of, drawn)
        if not abs(first.error) <= first.first_bound or not first.plus(first).is_sharp:
            amounts = iter([first, second])
            reds += times * red(lambda amounts=amounts: {"it": next(amounts)})
    return reds


def fails():
    raise AssertionError("it is not so")


class Chance(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(1)

    def test_shares_of_samples(self):
        for true, n, catches in SHARES:
            def amount_of(seen, true=true, n=n, catches=catches):
                return share_of_samples(seen / n, true, n, catches=catches)

            with self.subTest(true=true, n=n):
                right = binomial(self.chance, n, true)
                self.assertLessEqual(count_reds(right, amount_of, HEALTHY), MOST_REDS)
                for off in (catches, -catches):
                    if 0 <= true + off <= 1:
                        wrong = binomial(self.chance, n, true + off)
                        caught = count_reds(wrong, amount_of, WRONG)
                        self.assertGreaterEqual(caught, LEAST_CAUGHT * WRONG)

    def test_what_is_found_of_what_is_there(self):
        for least, n, catches in FOUND:
            def amount_of(count, n=n, least=least, catches=catches):
                return Found(count, n, least, catches)

            with self.subTest(least=least, n=n):
                right = binomial(self.chance, n, least)
                self.assertLessEqual(count_reds(right, amount_of, HEALTHY), MOST_REDS)
                wrong = binomial(self.chance, n, least - catches)
                self.assertGreaterEqual(count_reds(wrong, amount_of, WRONG), LEAST_CAUGHT * WRONG)
                self.assertEqual(count_reds(lambda times, n=n: [n] * times, amount_of, 1), 0)

    def test_too_few_are_there(self):
        for found in 0, 1, 3:
            self.assertTrue(red(lambda found=found: {"it": Found(found, found, 0.95, 0.5)}))

    def test_sums_with_a_sigma_of_their_own_and_a_systematic_part(self):
        def amount_of(shown):
            return Amount(shown, 3, 8, 0.05**2, 0.05, systematic=0.01)

        def draws(off):
            mean = 3 + 8 * off
            return lambda times: [self.chance.gauss(mean, 0.05) for _ in range(times)]

        self.assertLessEqual(count_reds(draws(0.01), amount_of, HEALTHY), MOST_REDS)
        self.assertGreaterEqual(count_reds(draws(-0.05), amount_of, WRONG), LEAST_CAUGHT * WRONG)


class Check(unittest.TestCase):
    def see(self, *shares, others=(0, 0), **how):
        """What the check says of recordings of 2000 samples that show SHARES of 0.3 each; those
        after the last as that."""
        self.recorded = 0

        def record_once():
            self.recorded += 1
            shown = shares[min(self.recorded, len(shares)) - 1]
            return {"place": share_of_samples(shown, 0.3, 2000, **{"catches": 0.08, **how})}

        self.text = io.StringIO()
        with contextlib.redirect_stdout(self.text):
            return measured(record_once, meter=Stage(*others))

    def test_one_recording_is_enough_if_it_is_right(self):
        self.assertTrue(self.see(0.31))
        self.assertEqual(self.recorded, 1)
        self.assertIn("others used 0.0 of 2 CPUs", self.text.getvalue())

    def test_another_one_is_added_to_one_that_is_off(self):
        self.assertTrue(self.see(0.36, 0.3))
        self.assertEqual(self.recorded, 2)
        self.assertFalse(self.see(0.36, 0.36))
        self.assertFalse(self.see(0.24, 0.24))

    def test_a_test_that_is_too_short_fails_whatever_it_saw(self):
        self.assertFalse(self.see(0.3, catches=0.02))
        self.assertEqual(self.recorded, MOST_PIECES)
        self.assertIn("too short for what it claims to catch: place", self.text.getvalue())

    def test_a_machine_that_shows_little_is_given_more_pieces(self):
        self.assertTrue(self.see(0.3, catches=0.04))
        self.assertEqual(self.recorded, 2)
        self.assertIn("one more piece: place", self.text.getvalue())
        self.assertFalse(self.see(0.34, catches=0.04))
        self.assertEqual(self.recorded, 4)

    def test_what_is_missing_may_be_unknown_but_then_less_is_caught(self):
        self.assertFalse(self.see(0.23, 0.23))
        self.assertTrue(self.see(0.23, 0.23, unknown=0.04, catches=0.15))
        self.assertFalse(self.see(0.37, 0.37, unknown=0.04, catches=0.12))
        self.assertFalse(self.see(0.3, unknown=0.08))

    def test_others_that_took_the_cpus_are_an_excuse(self):
        with self.assertRaisesRegex(Skipped, "^not measurable here: others used 1.3 of 2 CPUs$"):
            self.see(0.4, 0.4, others=(1.3, 0.1))
        with self.assertRaises(Skipped):
            self.see(0.3, unknown=0.2, others=(0.5, 0))
        self.assertTrue(self.see(0.3, others=(1.3, 0)))
        self.assertFalse(self.see(0.4, 0.4, others=(0.2, 0.2)))

    def test_no_amount_is_no_measure(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertFalse(measured(dict, meter=quiet()))

    def test_what_must_be_so_without_chance(self):
        with contextlib.redirect_stdout(io.StringIO()):
            with self.assertRaisesRegex(AssertionError, "not so"):
                measured(fails, meter=quiet())
            with self.assertRaises(Skipped):
                measured(fails, meter=Stage(1))

    def test_what_missed_too_much_is_recorded_anew(self):
        for missed, is_right in (1, True), (MOST_ANEW, True), (MOST_ANEW + 1, False):
            left = iter([False] * missed)

            def record_once(left=left):
                require_seen(next(left, True), "9% missed")
                return {"place": share_of_samples(0.3, 0.3, 2000, catches=0.08)}

            with self.subTest(missed=missed), contextlib.redirect_stdout(io.StringIO()) as text:
                if is_right:
                    self.assertTrue(measured(record_once, meter=quiet()))
                else:
                    with self.assertRaisesRegex(AssertionError, "9% missed"):
                        measured(record_once, meter=quiet())
                self.assertEqual(text.getvalue().count("recorded anew: 9% missed"),
                                 min(missed, MOST_ANEW))

    def test_others_excuse_what_is_no_share(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertTrue(unless_others(lambda: True, meter=Stage(2)))
            self.assertFalse(unless_others(lambda: False, meter=Stage(0)))
            with self.assertRaisesRegex(AssertionError, "not so"):
                unless_others(fails, meter=Stage(0))
            for test in fails, lambda: False:
                with self.assertRaisesRegex(Skipped, "^not measurable here: others used 2.0"):
                    unless_others(test, meter=Stage(2))


class Cpus(unittest.TestCase):
    """Not how much others used: that is the machine's business."""

    def test_children_are_no_others(self):
        burn = "import time\nwhile time.process_time() < 0.5: pass"
        with Others() as others:
            with subprocess.Popen([sys.executable, "-c", burn]) as live:
                live.wait()
        self.assertGreater(others.clocks()[2] - others.before[2], 0.45)
        self.assertRegex(str(others), r"^others used \d\.\d of \d+ CPUs$")


if __name__ == "__main__":
    unittest.main()
