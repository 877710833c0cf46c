"""The target was not harmed: it lives, is not stopped and not traced, and computes rightly.

Ask when wallspy is gone: a thread that is being held may be seen so.  Each dump and recording of
`wallspy` does, before it returns.
"""
from .processes import state, status, threads, wait_until


def assert_not_held(pid):
    """No thread of it is traced."""
    try:
        tids = threads(pid)
    except FileNotFoundError:
        return  # it has ended
    for tid in tids:
        try:
            found, tracer = state(pid, tid), status(pid, "TracerPid", tid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        assert found != "t", f"{tid} is held by {tracer}"
        assert tracer == "0", f"{tid} is traced by {tracer}"


def assert_let_go(pid):
    """No thread of it is stopped, either."""
    assert_not_held(pid)
    for tid in threads(pid):
        try:
            assert state(pid, tid) != "T", f"{tid} is stopped"
        except (FileNotFoundError, ProcessLookupError):
            continue


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
