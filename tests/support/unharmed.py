"""The target was not harmed: it lives, is not stopped and not traced, and computes rightly."""
import random
import unittest

from .chance import SEED
from .processes import state, status, stolen_s, threads, wait_until


def assert_let_go(pid):
    """No thread of it is stopped or traced.  Ask when wallspy is gone: a thread that is being held
    may be seen so."""
    for tid in threads(pid):
        try:
            found = state(pid, tid), status(pid, "TracerPid", tid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        assert found[0] not in "Tt", f"{tid} is stopped: {found}"
        assert found[1] == "0", f"{tid} is traced by {found[1]}"


def assert_unharmed(target):
    """It lives, too."""
    assert target.process.poll() is None, "the target ended"
    assert_let_go(target.pid)


def assert_goes_on(target, rounds=3):
    """It is unharmed, and its threads run on at once, with right results."""
    assert_unharmed(target)
    before = target.counts()["rounds"]
    wait_until(lambda: target.counts()["rounds"] > before + rounds,
               what="the target stands still")
    counts = target.counts()
    assert counts["wrong"] == 0, counts
    assert counts.get("eintr", 0) == 0, counts


class HarmTest(unittest.TestCase):
    """Tests whose chance is that of SEED, each as if it were the only one."""

    def setUp(self):
        random.seed(SEED)
        self.stolen_before_s = stolen_s()

    assert_unharmed = staticmethod(assert_unharmed)

    def assert_seen(self, recording, name, seconds):
        """NAME was in stacks for more than SECONDS.  If not, says what there was instead."""
        seen = recording.seconds(name)
        self.assertGreater(seen, seconds,
                           f"{name}; CPUs were stolen for {stolen_s() - self.stolen_before_s:.2f} "
                           f"s\n{recording}")
