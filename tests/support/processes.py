"""What /proc says of a process, and waiting for it."""
import collections
import contextlib
import os
import pathlib
import re
import time

Schedstat = collections.namedtuple("Schedstat", "run_s wait_s runs")


def wait_until(true, seconds=10, what="it never came about"):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.005)


def folder_of(pid, tid=None):
    return pathlib.Path(f"/proc/{pid}/task/{tid}" if tid else f"/proc/{pid}")


def status(pid, field, tid=None):
    """A field of its status file."""
    text = (folder_of(pid, tid) / "status").read_text(errors="surrogateescape")
    return re.search(rf"^{field}:\s*(.*)$", text, re.M).group(1)


def state(pid, tid=None):
    """R, S, D, T (stopped), t (held by a tracer), Z …"""
    return status(pid, "State", tid)[0]


def has_ended(pid):
    """It is gone, or its parent alone has not asked for it yet."""
    try:
        return state(pid) == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def threads(pid):
    return sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))


def thread_names(pid):
    """Of the threads that do not end meanwhile."""
    names = []
    for tid in threads(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names.append(status(pid, "Name", tid))
    return names


def children(pid):
    """Of all its threads.  Those of one that ends are another's then: all are read anew."""
    while True:
        tids = threads(pid)
        try:
            return [int(child) for tid in tids
                    for child in (folder_of(pid, tid) / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            if threads(pid) == tids:
                raise


def system_call(pid, tid):
    """The system call that the thread is in: its number first, then its arguments; or "running"."""
    return (folder_of(pid, tid) / "syscall").read_text().strip()


def schedstat(pid, tid=None):
    """For how long the thread was on a CPU and waited for one, and how often it was on one."""
    run_ns, wait_ns, runs = map(int, (folder_of(pid, tid) / "schedstat").read_text().split())
    return Schedstat(run_ns / 1e9, wait_ns / 1e9, runs)


def is_in_call(pid, tid, *numbers):
    """Does the thread wait in one of these system calls?"""
    try:
        return system_call(pid, tid).split()[0] in map(str, numbers)
    except OSError:  # it has ended
        return False


def times_run(pid):
    """How often its threads were on a CPU so far, those that live."""
    return sum(schedstat(pid, tid).runs for tid in threads(pid))


def wait_for_rest(pid, seconds=10):
    """Until all its threads sleep, and none has run in three looks at them."""
    looks = [None, None]

    def rests():
        looks.append([(tid, state(pid, tid), schedstat(pid, tid).runs) for tid in threads(pid)])
        asleep = all(how == "S" for _, how, _ in looks[-1])
        return asleep and looks[-1] == looks[-2] == looks[-3]

    wait_until(rests, seconds, f"{pid} does not come to rest")


def wait_until_taken(pid, number):
    """Until a signal that was sent to the process has reached it."""
    wait_until(lambda: not int(status(pid, "ShdPnd"), 16) >> number - 1 & 1,
               what=f"{pid} does not take signal {number}")
