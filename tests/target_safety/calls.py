"""What a stop does to system calls, as docs/interrupted-calls.md says: the program sees none of it.

Each group of calls is made by two programs at the same time, of which one is sampled: what befalls
the other too is this machine's doing.  tools/torture does the same for a minute each.
"""
import dataclasses
import itertools
import time

from support.cases import HarmTest
from support.outcome import main
from support.recording import Recording
from support.targets import HarmTarget
from support.unharmed import assert_unharmed
from support.wallspy import Wallspy

GROUPS = ("repaired", "restarted", "cut")
HOWS = ("race", "blocked")
TROUBLE = ("eintr", "short", "early", "odd")
NOT_CALLS = (*TROUBLE, "late_max_us")
# Late time-outs are the machine's as a rule; a time-out that starts anew at each stop never ends.
NOISE_S = 0.25


@dataclasses.dataclass
class Compared:
    """What befell the calls of a program that was sampled, and of one beside it that was not."""
    sampled: dict
    alone: dict
    profile: Recording
    late_max_us: tuple

    def calls(self):
        """Those of the sampled program: name → how often it was made."""
        return {name: n for name, n in self.sampled.items()
                if name not in NOT_CALLS and "." not in name and not name.startswith("late")}

    def troubled(self, of, *names):
        """The calls that did not come out right."""
        return {name[:-4]: n for name, n in of.items() if name.endswith(".bad") and n
                and name[:-4] not in names}

    @staticmethod
    def late_us(of, share):
        """What SHARE of its time-outs were late by at most, to the next power of two."""
        counts = [of[f"late{i}"] for i in range(24)]
        for i, n in enumerate(itertools.accumulate(counts)):
            if n >= share * sum(counts):
                return 1 << i
        return 0

    def late(self, share):
        return self.late_us(self.sampled, share), self.late_us(self.alone, share)

    def held_s(self):
        return self.profile.facts["held_max_ns"] / 1e9

    def late_s(self):
        """By how much the latest time-out was later than beside wallspy, but for its repairs."""
        sampled_us, alone_us = self.late_max_us
        return (sampled_us - alone_us) / 1e6 - self.profile.facts["repair_max_ns"] / 1e9


def compare(group, how, seconds):
    """Makes the calls of GROUP for SECONDS."""
    with HarmTarget("calls", group, how) as alone, \
            HarmTarget("calls", group, how) as target, Wallspy(target.pid) as wallspy:
        programs = (target, alone)
        before = [program.counts() for program in programs]
        time.sleep(seconds)
        after = [program.counts() for program in programs]
        profile = wallspy.stop()
        assert_unharmed(target)
        for program in programs:
            program.finish()
    sampled, beside = ({k: n - b[k] for k, n in a.items()} for a, b in zip(after, before))
    return Compared(sampled, beside, profile, tuple(a["late_max_us"] for a in after))


class Calls(HarmTest):
    def assert_unseen(self, compared):
        """No call failed, gave up early or was late for our sake, and all go on."""
        self.assertEqual(compared.troubled(compared.sampled), {}, compared)
        self.assertEqual(compared.profile.facts["perturbed_calls"], 0)
        for name, n in compared.calls().items():
            self.assertGreater(n, 3, name)
        self.assertLess(compared.late_s(), NOISE_S, compared)

    def compare_unseen(self, group, how, seconds):
        """The same of GROUP's calls.  On a machine whose CPUs others take one of thousands may be
        late all the same, or its kernel ends time-outs early, without wallspy, too: then they are
        made once more, for twice as long."""
        compared = compare(group, how, seconds)
        alone = compared.troubled(compared.alone)
        if compared.late_s() >= NOISE_S or alone:
            print(f"late by {compared.late_s():.3f} s, held for {compared.held_s():.3f} s at most; "
                  f"without wallspy: {alone}")
            compared = compare(group, how, 2 * seconds)
        self.assert_unseen(compared)
        return compared

    def test_repaired_race(self):
        compared = self.compare_unseen("repaired", "race", 4)
        # Else nothing was tried: stops did meet calls that they would have interrupted.
        self.assertGreater(compared.profile.facts["repaired_calls"], 0)

    def test_repaired_blocked(self):
        self.compare_unseen("repaired", "blocked", 1)

    def test_restarted_race(self):
        self.compare_unseen("restarted", "race", 2)

    def test_restarted_blocked(self):
        self.compare_unseen("restarted", "blocked", 1)

    def assert_counted(self, compared):
        """What is cut short where that cannot be helped is counted, as far as it can be told."""
        troubled = compared.troubled(compared.sampled, "pipe_writev")
        self.assertLessEqual(sum(troubled.values()), compared.profile.facts["cut_calls"] +
                             compared.profile.facts["perturbed_calls"], compared)
        for name, n in compared.calls().items():
            with self.measurable():
                self.assertGreater(n, 0, name)
            self.assertGreater(n, compared.sampled[f"{name}.bad"], name)

    def test_cut_race(self):
        self.assert_counted(compare("cut", "race", 1.5))

    def test_cut_blocked(self):
        compared = compare("cut", "blocked", 3)  # a send_large takes more than half a second
        self.assert_counted(compared)
        # Only what is on a CPU is stopped: what computes, now and then one that was just going to
        # block, and the one call that copies between its waits.  Were they stopped as they wait,
        # all would be cut.
        for name, n in compared.troubled(compared.sampled, "getrandom", "fallocate",
                                         "send_large").items():
            self.assertLess(4 * n, compared.calls()[name], name)

    def progress(self, kind):
        """How many calls were done in 2 s, what wallspy counted, and what the program saw."""
        with HarmTarget("long_calls", kind) as target:
            with Wallspy(target.pid) as wallspy:
                before = target.counts()["done"]
                time.sleep(2)
                done = target.counts()["done"] - before
                profile = wallspy.stop()
            self.assert_unharmed(target)
            return done, profile, target.finish()

    def test_long_blocked_calls(self):
        for kind in "blocked", "fuse":
            with self.subTest(kind=kind):
                done, profile, counts = self.progress(kind)
                self.assertGreater(done, 20)
                self.assertEqual((counts["eintr"], counts["wrong"]), (0, 0))
                self.assertEqual(profile.facts["perturbed_calls"], 0)

    def test_long_running_calls(self):
        """Those that start anew when interrupted (fallocate on some kernels) would never be done at
        1000 Hz without the progress rule.  The call itself returns EINTR, each of which is counted;
        again if the thread is stopped before it could see it."""
        for kind in "running", "fallocate":
            with self.subTest(kind=kind):
                done, profile, counts = self.progress(kind)
                self.assertGreater(done, 2)
                self.assertGreaterEqual(profile.facts["perturbed_calls"], counts["eintr"])
                if counts["eintr"]:
                    self.assertGreater(profile.facts["backed_off"], 0)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
