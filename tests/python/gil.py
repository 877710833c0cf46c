"""Threads of which it is known who holds the GIL, who waits for it and who wants none: what `dump`
and `record` say of each.  Runs on 3.6 and later.

usage: gil.py WALLSPY (without it: the target)"""

import os
import re
import sys
import sysconfig
import threading
import time

from support.outcome import Skipped, end_with
from support.processes import system_call, wait_until
from support.targets import Target
from support.wallspy import call, dump_text, dump_threads, record_process

try:
    import ctypes
except ImportError:
    ctypes = None
SYS_GETTID = 186
SYS_NANOSLEEP, SYS_CLOCK_NANOSLEEP, SYS_FUTEX = "35", "230", "202"
SPOKEN = []
SLEEPS = ("nanosleep", "clock_nanosleep", "restart_syscall")


def say(role):
    os.write(1, ("%s %d\n" % (role, ctypes.CDLL(None).syscall(SYS_GETTID))).encode())
    SPOKEN.append(role)


def hold():
    """PyDLL keeps the GIL while it calls: the others must have come up before."""
    while len(SPOKEN) < 3:
        time.sleep(0.01)
    say("holding")
    ctypes.PyDLL(None).sleep(60)


def release():
    """CDLL gives it back."""
    say("none")
    ctypes.CDLL(None).sleep(60)


def spin(role):
    say(role)
    while True:
        pass


def target(scene):
    ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1))  # PR_SET_PTRACER, PR_SET_PTRACER_ANY
    last = [hold] if scene == "held" else []
    for work in [release, lambda: spin("waiting"), lambda: spin("waiting"), *last]:
        threading.Thread(target=work, daemon=True).start()
    threading.Event().wait()


class Speaking(Target):
    """A running target: .roles is {tid: role}."""

    def __init__(self, scene, threads):
        super().__init__([sys.executable, __file__, "target", scene])
        lines = [self.first.split()] + [self.line().split() for _ in range(threads - 1)]
        self.roles = {int(tid): role for role, tid in lines}
        for tid, role in self.roles.items():
            wanted = [SYS_FUTEX] if role == "waiting" else [SYS_NANOSLEEP, SYS_CLOCK_NANOSLEEP]
            if role != "waiting" or scene == "held":
                wait_until(lambda tid=tid, wanted=wanted: system_call(
                    self.pid, tid).split()[0] in wanted, what="%d does not wait" % tid)


def wrong_in_dump(threads, roles, pid):
    """What a dump of the scene `held` says that is not so."""
    holder = [tid for tid, role in roles.items() if role == "holding"][0]
    for tid, role in roles.items():
        t = threads[tid]
        wait = t["waits_for"]
        leaf = t["frames"][0]["name"]
        if t["gil"] != role:
            yield "%d is %s, not %s" % (tid, t["gil"], role)
        if role == "waiting" and (wait != {"kind": "gil", "tid": holder, "pid": pid} or
                                  leaf != "[waiting for GIL]"):
            yield "%d waits for %s in %s" % (tid, wait, leaf)
        if role != "waiting" and (wait or leaf.split()[0] not in SLEEPS):
            yield "%d waits for %s in %s" % (tid, wait, leaf)


def check_dump(wallspy):
    with Speaking("held", 4) as target:
        # A thread that waits looks around every 5 ms.
        for _ in range(10):
            threads = {t["tid"]: t for t in dump_threads(wallspy, target.pid)}
            wrong = list(wrong_in_dump(threads, target.roles, target.pid))
            if not wrong:
                break
        assert not wrong, wrong
        text = dump_text(wallspy, target.pid)
        holder = [tid for tid, role in target.roles.items() if role == "holding"][0]
        text = " ".join(text.split())  # lines are wrapped
        assert re.search(r"\b%d \S+ +[^%%]*?, holds the GIL\b" % holder, text), text
        assert re.search(r"waits? for the GIL, held by %d \S" % holder, text), text


def record(wallspy, target, *options):
    """{tid: {stack: seconds}}"""
    recording = record_process(wallspy, ["-q", "-d", "1", *options], target.pid).recording
    threads = {}
    for line in recording.lines:
        match = re.search(r" (\d+) \| wall$", line.name)
        if not match:
            continue
        times = threads.setdefault(int(match.group(1)), {})
        for seconds, names, _ in line.samples:
            times[tuple(names)] = times.get(tuple(names), 0) + seconds
    return threads


def check_record(wallspy):
    with Speaking("fight", 3) as target:
        spinners = [tid for tid, role in target.roles.items() if role == "waiting"]
        every, holding = record(wallspy, target), record(wallspy, target, "--gil")
        with_python_off = record(wallspy, target, "--gil", "--no-python")
    for tid in spinners:
        waits = [stack for stack in every[tid] if stack and stack[-1] == "[waiting for GIL]"]
        assert waits and all("spin" in stack for stack in waits), every[tid].keys()
        stacks = [stack for stack in holding[tid] if stack]
        assert stacks and all("spin" in s and s[-1] != "[waiting for GIL]" for s in stacks), stacks
        assert any(with_python_off[tid]), with_python_off.keys()
    for recorded in holding, with_python_off:
        idle = [stack for tid in recorded if tid not in spinners for stack in recorded[tid]
                if stack]
        assert not idle, idle


def check_free_threaded(wallspy):
    with Speaking("held", 4) as target:
        states = {t["gil"] for t in dump_threads(wallspy, target.pid)}
        assert states == {None}, states
        said = call([wallspy, "-g", "-d", "0.3", "-o", "-", "-p", target.pid]).stderr
        assert "runs without a GIL" in " ".join(said.split()), said


def main():
    if not ctypes:
        raise Skipped("no ctypes")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        check_free_threaded(sys.argv[1])
    else:
        check_dump(sys.argv[1])
        check_record(sys.argv[1])


if __name__ == "__main__":
    target(sys.argv[2]) if sys.argv[1] == "target" else end_with(main)
