#!/usr/bin/env python3
"""A program takes locks of every kind at random and keeps a record of who has which: is each holder
that wallspy tells the right one, and is it told where there is one?  Are circles found, and none
where threads only contend, wait with time-outs or on conditions?

usage: lock_owners.py WALLSPY PROGRAM contend SECONDS | namespace SECONDS | circles | inherit
"""
import json
import os
import re
import shutil
import subprocess
import sys

from support.lock_record import count_wrong, found, judge, parse_claims, parse_records
from support.measure import measured
from support.outcome import Skipped, end_with
from support.processes import status, threads, wait_for_rest
from support.targets import Target
from support.unharmed import assert_not_held
from support.wallspy import call, dump_json, dump_text, succeed


# A kind of lock of which so many of its holders are lost is found.
CATCHES = 0.12


def started(command):
    """The program, and the words of the lines that it says until it is ready."""
    target = Target(command)
    lines = [target.first.split()]
    while lines[-1][0] != "ready":
        lines.append(target.line().split())
    return target, lines


def contend(wallspy, program, seconds, inside=()):
    """INSIDE: the words that start it in a pid namespace of its own."""
    target, lines = started([*inside, program, "contend", seconds])
    with target:
        numbers = list(map(int, lines[-1][1:]))
        pids = [own_pid(number, target.pid) for number in numbers] if inside else numbers
        waits = host_tids(pids) if inside else None
        environment = dict(os.environ, WALLSPY_TRACE="wait")
        record = [wallspy, "-p", ",".join(map(str, pids)), "-d", seconds, "-o", "none"]
        with subprocess.Popen(record, env=environment, stderr=subprocess.PIPE,
                              text=True) as recorder:
            # Not dump_json(): the recording may hold a thread just now.
            dump = [wallspy, "dump", "--json", "-p", ",".join(map(str, pids))]
            dumps = [json.loads(succeed(dump).stdout) for _ in range(2)] if not inside else []
            _, stderr = recorder.communicate(timeout=200)
        for pid in pids:
            assert_not_held(pid)
        assert recorder.returncode == 0, stderr
        records = target.rest()
    kinds, waiters, holds = parse_records(records)
    claims = parse_claims(stderr)
    if inside:  # threads that were born later are joined ones: those ids are wallspy's business
        known = waits
        kinds = {lock: kind for lock, kind in kinds.items() if kind != "join"}
        waiters = {tid: lock for tid, lock in waiters.items() if lock in kinds}
    rows = judge(claims, (kinds, waiters, holds), known.get if inside else int)
    said = [line for line in stderr.splitlines() if re.search("deadlock", line, re.I)]
    circles = [circle for dump in dumps for circle in dump["circles"] if circle["deadlock"]]
    print(f"{len(claims)} waits; deadlocks told: {said + circles}")
    assert not count_wrong(rows) and not said and not circles
    return found(rows, CATCHES)


# ---- another pid namespace ----

def ids_of(pid, tid):
    """Its ids, from this namespace to its own."""
    try:
        return list(map(int, status(pid, "NSpid", tid).split()))
    except (OSError, AttributeError):  # it has ended
        return []


def own_pid(number, ancestor):
    """The pid here of the process that is NUMBER in the namespace below ANCESTOR."""
    for name in os.listdir("/proc"):
        ids = ids_of(name, name) if name.isdigit() else []
        if len(ids) > 1 and ids[-1] == number and is_below(int(name), ancestor):
            return int(name)
    raise AssertionError(f"{number} is not in the namespace")


def is_below(pid, ancestor):
    while pid > 1 and pid != ancestor:
        with open(f"/proc/{pid}/stat", encoding="utf8") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])
    return pid == ancestor


def host_tids(pids):
    tids = {}
    for pid in pids:
        for tid in threads(pid):
            for own in ids_of(pid, tid)[-1:]:
                tids[own] = tid
    return tids


# ---- circles, fork ----

def find_circle(wallspy, program, n):
    target, lines = started([program, "circle", n])
    with target:
        tids = sorted(int(line[1]) for line in lines if line[0] == "tid")
        wait_for_rest(target.pid)
        circles = dump_json(wallspy, target.pid)["circles"]
        done = call([wallspy, "-p", target.pid, "-d", "3", "-o", "none"])
        text = " ".join(done.stderr.split())
    right = (len(circles) == 1 and circles[0]["deadlock"] and
             sorted(circles[0]["tids"]) == tids)
    said = re.search(r"Deadlock for [\d.]+ s: (.*?)\. Behind it: main", text)
    told = said is not None and all(f" {tid} waits in " in " " + said[1] for tid in tids)
    print(f"circle of {n}: dump {right}, answer {told}")
    if not (right and told):
        print(tids, circles, text)
    return right and told


def inherited(wallspy, program):
    target, lines = started([program, "inherit"])
    with target:
        parent, child = map(int, lines[-1][1:])
        wait_for_rest(parent)
        wait_for_rest(child)
        holder = max(threads(parent))
        waits = [thread["waits_for"] for process in dump_json(wallspy, child)["processes"]
                 for thread in process["threads"]]
        text = dump_text(wallspy, child)
    print(waits, holder)
    wanted = f"held by {holder}, which is not a thread of this process"
    return (waits[0]["tid"] == holder and waits[0].get("gone") is True and
            wanted in " ".join(text.split()))


def main():
    wallspy, program, what = sys.argv[1:4]
    if what == "contend":
        return measured(lambda: contend(wallspy, program, sys.argv[4]))
    if what == "namespace":
        inside = [shutil.which("unshare") or "unshare", "--pid", "--fork", "--kill-child"]
        if call([*inside, "true"]).code != 0:
            raise Skipped("no pid namespace can be made here")
        return measured(lambda: contend(wallspy, program, sys.argv[4], inside))
    if what == "circles":
        return all([find_circle(wallspy, program, n) for n in range(1, 6)])
    return inherited(wallspy, program)


if __name__ == "__main__":
    end_with(main)
