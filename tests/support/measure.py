"""Statistical checks: is what wallspy shows the truth, as far as chance lets anyone tell?

A test makes a recording of amounts, each as it is shown, and as the target's own clock has it, and
says beside each which error it catches at least.  measured() makes the recording, and holds that no
amount is off by more than 4.5 sigma of its sampling error and a systematic part:

  - one that may be off, or wrong, is recorded once more, and judged by both recordings together:
    of a million right ones some 7 are beyond;
  - the bound of the first recording is so narrow that an error of the claimed size is seen by both
    in 99 of 100 runs.  A slow machine shows less in the same time: there a recording is made of up
    to MOST_PIECES pieces.  Where they are too short for that, too, it fails, whatever it saw;
  - a CPU of a virtual machine may stand still for some tenths of a second.  A recording that
    missed too much (require_seen()) is none, whatever it shows, and made anew, MOST_ANEW times;
  - if it fails, and other programs took the CPUs, it ends as "not measurable here", which is a
    skip.  A test that passes would have caught such an error on this machine, too.
"""
import bisect
import functools
import itertools
import math
import os
import pathlib
import typing

from .outcome import Skipped

SIGMAS = 4.5
# Of an error of the claimed size so many sigma are left: 995 of 1000 are.
SURE_SIGMAS = 2.6
# How far the skew of a distribution moves its quantile at 4.5 sigma (Cornish and Fisher), by the
# third moment over the variance.
SKEW = (SIGMAS**2 - 1) / 6
# The variance of the time from a change to the middle of its gap between ticks, over the square of
# the interval: where ticks come when they are due, and where they are late.
EVEN, LATE = 1 / 8, 1 / 3
MOST_PIECES = 4
MOST_ANEW = 2
# Of all CPUs: other programs that take more are an excuse.
OTHERS_MOST = 1 / 8


class Amount(typing.NamedTuple):
    """What a recording shows of TOTAL, in the unit of the test's choice, and how sure that is.
    Those of two recordings are added up.  `catches` and `systematic` are shares of the total."""
    shown: float
    true: float
    total: float
    variance: float  # of what is shown, by chance
    catches: float  # errors from here on are found
    systematic: float = 0  # what it may be off by without chance
    third: float = 0  # the third central moment of what is shown
    unknown: float = 0  # of what is true it may be missing

    def __str__(self):
        return f"shown {self.shown / self.total:6.1%}  true {self.true / self.total:6.1%}"

    def plus(self, other):
        sums = (self[i] + other[i] for i in range(4))
        return Amount(*sums, self.catches, self.systematic, self.third + other.third,
                      self.unknown + other.unknown)

    @property
    def error(self):
        """A share of the total; what is unknown excuses what is missing."""
        off = self.shown - self.true
        return (off if off > 0 else min(0, off + self.unknown)) / self.total

    @property
    def bound(self):
        """The largest error that may be chance, as a share of the total."""
        skew = SKEW * abs(self.third) / self.variance if self.variance else 0
        return (SIGMAS * math.sqrt(self.variance) + skew) / self.total + self.systematic

    @property
    def blur(self):
        """How much smaller an error of the claimed size may look."""
        skew = abs(self.third) / self.variance if self.variance else 0
        variance = self.variance + self.catches * self.total * skew
        return (SURE_SIGMAS * math.sqrt(variance) + self.unknown) / self.total

    @property
    def is_sharp(self):
        """Does it catch what it claims?"""
        return self.bound + self.blur <= self.catches

    @property
    def first_bound(self):
        """Of a recording that may be followed by another one."""
        return min(self.bound, self.catches - self.blur)


def share_of_samples(shown, true, samples, **how):
    """The Amount of a share that SAMPLES saw or did not see.  HOW: catches, systematic, unknown (a
    share, too)."""
    unknown = how.pop("unknown", 0) * samples
    # Of one sample nobody can say that it is none.
    likely = min(max(true, 1 / samples), 1 - 1 / samples) if samples > 2 else 0.5
    variance = samples * likely * (1 - likely)
    return Amount(shown * samples, true * samples, samples, variance, unknown=unknown,
                  third=variance * (1 - 2 * likely), **how)


@functools.lru_cache(maxsize=1000)
def chance_of_most(n, p):
    """How likely at most 0, 1, … N of N are there, each with probability P."""
    logs = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) +
            k * math.log(p) + (n - k) * math.log1p(-p) for k in range(n + 1))
    return list(itertools.accumulate(map(math.exp, logs)))


class Found(typing.NamedTuple):
    """An Amount of which nobody knows the truth: FOUND of THERE were found, each with probability
    LEAST at least.  It is caught if CATCHES of them are lost, which leaves LEAST - CATCHES."""
    found: int
    there: int
    least: float
    catches: float

    def plus(self, other):
        return Found(self.found + other.found, self.there + other.there, self.least, self.catches)

    @property
    def too_few(self):
        """So few are never found by chance: by that of 4.5 sigma."""
        never = math.erfc(SIGMAS / math.sqrt(2)) / 2
        return bisect.bisect_right(chance_of_most(self.there, self.least), never) - 1

    @property
    def most_of_lost(self):
        """If CATCHES are lost more than so many are never found: in 5 of 1000 runs."""
        surely = 1 - math.erfc(SURE_SIGMAS / math.sqrt(2)) / 2
        return bisect.bisect_left(chance_of_most(self.there, self.least - self.catches), surely)

    def bound_of(self, too_few):
        return (self.least * self.there - too_few - 0.5) / max(1, self.there)

    @property
    def error(self):
        return min(0, self.found - self.least * self.there) / max(1, self.there)

    @property
    def bound(self):
        return self.bound_of(self.too_few)

    @property
    def first_bound(self):
        return self.bound_of(max(self.too_few, self.most_of_lost))

    @property
    def is_sharp(self):
        return self.most_of_lost <= self.too_few

    def __str__(self):
        return f"found {self.found} of {self.there}"


def time_of_visits(shown_s, true_s, total_s, visits, recording, **how):
    """The Amount of time in a place that is entered and left VISITS times: each change is told to
    within a tick (tests/accuracy/known_shares.py).  HOW: catches, systematic, unknown (seconds)."""
    late = min(1, recording.facts["late_ticks"] * recording.interval_s / total_s)
    change = EVEN + late * (LATE - EVEN)
    return Amount(shown_s, true_s, total_s, 2 * visits * change * recording.interval_s**2, **how)


def family_s():
    """CPU seconds of this process and all below it, also of those that have ended."""
    stats = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        stats[int(folder.name)] = int(words[1]), sum(map(int, words[11:15]))
    family, grows = {os.getpid()}, True
    while grows:
        more = {pid for pid, (parent, _) in stats.items() if parent in family} - family
        family |= more
        grows = bool(more)
    return sum(stats[pid][1] for pid in family if pid in stats) / os.sysconf("SC_CLK_TCK")


def busy_s(cpus):
    """CPU seconds for which CPUS were not idle, those that were stolen from this machine, too."""
    seconds = 0
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        name, *numbers = line.split()
        if name[3:].isdigit() and name.startswith("cpu") and int(name[3:]) in cpus:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, numbers[:8])
            seconds += user + nice + system + irq + softirq + steal
    return seconds / os.sysconf("SC_CLK_TCK")


class Others:
    """How much of the CPUs was used by others than this process and those below it: `used`, in
    CPUs, once the block is left."""

    def __init__(self):
        self.cpus = os.sched_getaffinity(0)
        self.used = 0.0

    def clocks(self):
        return os.times().elapsed, busy_s(self.cpus), family_s()

    def __enter__(self):
        self.before = self.clocks()
        return self

    def __exit__(self, *_):
        wall, busy, family = (b - a for a, b in zip(self.before, self.clocks()))
        self.used = max(0.0, busy - family) / max(wall, 1e-3)

    def __str__(self):
        """tools/test-summary reads it."""
        return f"others used {self.used:.1f} of {len(self.cpus)} CPUs"

    def are_too_many(self, most=OTHERS_MOST):
        return self.used > most * len(self.cpus)


def is_within(name, amount, is_last):
    """Prints a line."""
    allowed = amount.bound if is_last else amount.first_bound
    if not amount.is_sharp and is_last:
        verdict = "  TOO SHORT"
    else:
        verdict = "" if abs(amount.error) <= allowed else "  WRONG" if is_last else "  again"
    print(f"  {name:28} {amount}  may be off by {max(0, allowed):.1%}, catches "
          f"{amount.catches:.1%}{verdict}")
    return not verdict


def added(sums, amounts):
    return {name: sums[name].plus(amount) if name in sums else amount
            for name, amount in {**sums, **amounts}.items()}


def blunt_ones(amounts):
    """The names of those of which chance leaves too much even if there are twice as many."""
    return [name for name, amount in amounts.items() if not amount.plus(amount).is_sharp]


class Unseen(AssertionError):
    """A recording missed so much that it shows nothing."""


def require_seen(is_enough, text):
    """For what a recording missed, not for what it shows; TEXT has the figure."""
    if not is_enough:
        raise Unseen(text)


def unless_unseen(record_once):
    """What the first recording shows that missed little."""
    for _ in range(MOST_ANEW):
        try:
            return record_once()
        except Unseen as missed:
            print(f"recorded anew: {missed}", flush=True)
    return record_once()


def in_pieces(record_once):
    """The amounts of as many recordings as it takes until none is blunt, at most MOST_PIECES.  What
    is blunt depends on how much was seen, not on what it shows: nothing has a second chance."""
    amounts = unless_unseen(record_once)
    for _ in range(MOST_PIECES - 1):
        blunt = blunt_ones(amounts)
        if not blunt:
            break
        print(f"too little was seen, one more piece: {', '.join(blunt)}", flush=True)
        amounts = added(amounts, unless_unseen(record_once))
    return amounts


def measured(record_once, others_most=OTHERS_MOST, meter=Others):
    """RECORD_ONCE() makes a recording and returns {name: Amount or Found}; whatever must be so
    without chance it asserts itself.  Returns whether all amounts are right; raises Skipped if they
    are not, or an assertion failed, and others took more than OTHERS_MOST of all CPUs."""
    sums, busiest, failure = {}, None, None
    for is_last in (False, True):
        with meter() as others:
            try:
                amounts = in_pieces(record_once)
            except AssertionError as error:
                failure = error
        print(others, flush=True)
        if busiest is None or others.used > busiest.used:
            busiest = others
        if failure is not None:
            break
        sums = added(sums, amounts)
        good = [is_within(name, amount, is_last) for name, amount in sums.items()]
        blunt = [] if is_last else blunt_ones(sums)
        if good and all(good) and not blunt:
            return True
        if blunt:
            print(f"too short for what it claims to catch: {', '.join(blunt)}")
            break
    excuse_or_raise(busiest, others_most, failure)
    return False


def excuse_or_raise(others, others_most=OTHERS_MOST, failure=None):
    """Raises Skipped if OTHERS took too much, else FAILURE, if there is one."""
    if others.are_too_many(others_most):
        print(failure or "")
        raise Skipped(f"not measurable here: {others}")
    if failure is not None:
        raise failure


def unless_others(test, others_most=OTHERS_MOST, meter=Others):
    """What TEST() returns; raises Skipped if that is False, or it raises AssertionError, and others
    took more than OTHERS_MOST of all CPUs meanwhile."""
    good, failure = False, None
    with meter() as others:
        try:
            good = test()
        except AssertionError as error:
            failure = error
    print(others, flush=True)
    if good is None and failure is None:
        good = True
    if not good:
        excuse_or_raise(others, others_most, failure)
    return good
