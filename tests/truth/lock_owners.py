#!/usr/bin/env python3
"""A program takes locks of every kind at random and keeps a record of who has which: is each holder
that wallspy tells the right one, and is it told where there is one?  Are circles found, and none
where threads only contend, wait with time-outs or on conditions?

usage: lock_owners.py WALLSPY PROGRAM contend SECONDS | namespace SECONDS | circles | inherit
"""
import bisect
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

SLACK_NS = 8_000_000  # wallspy reads a lock right after the clock, but may lose the CPU between
SURE_NS = 300_000  # of a hold's both ends: a holder is sure in between
LEAST_FOUND = 0.95
THREAD = 1  # enum wait_holder
Hold = collections.namedtuple("Hold", "tid asked took gives gave")
Claim = collections.namedtuple("Claim", "waiter at thing holder tid")


@contextlib.contextmanager
def running(command):
    """Yields the process and the pids that it says."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        try:
            for line in process.stdout:
                lines.append(line.split())
                if lines[-1][0] == "ready":
                    break
            yield process, lines
        finally:
            process.kill()


def parse_records(text):
    kinds, waiters, holds = {}, {}, collections.defaultdict(list)
    for words in map(str.split, text.splitlines()):
        if words[0] == "kind":
            kinds[words[1]] = words[2]
        elif words[0] == "waiter":
            waiters[int(words[2])] = words[1]
        elif words[0] == "held":
            holds[words[1]].append(Hold(*map(int, words[2:])))
    for lock in holds.values():
        lock.sort(key=lambda hold: hold.took)
    return kinds, waiters, holds


def may_hold(holds, claim, tids):
    """May the claimed thread have had the lock when it was read?  It cannot have had it before
    whoever had it last began to give it up, nor after it had given it up itself."""
    first = bisect.bisect_left([hold.took for hold in holds], claim.at - 200_000_000)
    for number, hold in enumerate(holds[first:], first):
        if hold.asked > claim.at + SLACK_NS:
            break
        since = max(hold.asked, holds[number - 1].gives if number else 0)
        if tids(hold.tid) == claim.tid and since <= claim.at + SLACK_NS and claim.at <= hold.gave:
            return True
    return False


def around(holds, at, tids):
    """Who had the lock about then: the thread, and milliseconds before and after."""
    return [(tids(hold.tid), *[round((when - at) / 1e6, 2) for when in hold[1:]])
            for hold in holds if abs(hold.took - at) < 50_000_000]


def sure_holder(holds, at, look_ns):
    """Who surely had the lock then and while wallspy looked; None: nobody, or it changed hands."""
    for hold in holds:
        if hold.took + SURE_NS <= at and at + look_ns <= hold.gives:
            return hold.tid
    return None


def waits_for_lock(own, at):
    """Is the thread with the holds OWN in the call that takes the lock?  It is not in a wait on a
    condition, which begins where a hold ends, nor done with the wait by now."""
    gives = {hold.gives for hold in own}
    return any(hold.asked <= at <= hold.took and hold.asked not in gives for hold in own)


def judge(claims, kinds, waiters, holds, tids, sure=None, look_ns=SURE_NS):
    """Prints a line for each kind.  TIDS: what wallspy calls the thread that calls itself so.
    SURE: the kinds whose holders have to be found; None: all.  LOOK_NS: how long a wait has to
    last for that."""
    by_own = {tids(tid): (tid, lock) for tid, lock in waiters.items()}
    rows = collections.defaultdict(lambda: collections.Counter())
    for claim in claims:
        if claim.waiter not in by_own:
            continue
        own_tid, lock = by_own[claim.waiter]
        row = rows[kinds[lock]]
        if claim.holder == THREAD:
            row["told"] += 1
            if not may_hold(holds[lock], claim, tids):
                row["wrong"] += 1
                if row["wrong"] <= 3:
                    print("wrong:", claim, around(holds[lock], claim.at, tids))
        elif claim.holder:
            row["wrong"] += 1
        own = [hold for hold in holds[lock] if hold.tid == own_tid]
        if own and not waits_for_lock(own, claim.at):
            continue
        holder = sure_holder(holds[lock], claim.at, look_ns)
        if holder is not None and holder != own_tid:
            row["there"] += 1
            row["found"] += claim.holder == THREAD and claim.tid == tids(holder)
    good = True
    for kind in sorted(set(kinds.values())):
        row = rows[kind]
        found = row["told"] > 0 and row["found"] >= LEAST_FOUND * row["there"]
        fine = not row["wrong"] and (found or (sure is not None and kind not in sure))
        print(f"{kind:16} told {row['told']:5}  wrong {row['wrong']}  "
              f"found {row['found']} of {row['there']}" + ("" if fine else "  NO"))
        good = good and fine
    return good


def parse_claims(stderr):
    pattern = re.compile(r" wait (\d+) at (\d+): thing (\d+), holder (\d+), (-?\d+) of \d+")
    return [Claim(*map(int, found)) for found in pattern.findall(stderr)]


def contend(wallspy, program, seconds, inside=()):
    """INSIDE: the words that start it in a pid namespace of its own."""
    with running([*inside, program, "contend", seconds]) as (process, lines):
        numbers = list(map(int, lines[-1][1:]))
        pids = [own_pid(number, process.pid) for number in numbers] if inside else numbers
        waits = host_tids(pids) if inside else None
        environment = dict(os.environ, WALLSPY_TRACE="wait")
        record = [wallspy, "-p", ",".join(map(str, pids)), "-d", seconds, "-o", "none"]
        with subprocess.Popen(record, env=environment, stderr=subprocess.PIPE,
                              text=True) as recorder:
            dumps = [dump(wallspy, pids) for _ in range(2)] if not inside else []
            _, stderr = recorder.communicate(timeout=200)
        assert recorder.returncode == 0, stderr
        records = process.stdout.read()
    kinds, waiters, holds = parse_records(records)
    claims = parse_claims(stderr)
    if inside:  # threads that were born later are joined ones: those ids are wallspy's business
        known = waits
        kinds = {lock: kind for lock, kind in kinds.items() if kind != "join"}
        waiters = {tid: lock for tid, lock in waiters.items() if lock in kinds}
    good = judge(claims, kinds, waiters, holds, known.get if inside else int)
    said = [line for line in stderr.splitlines() if re.search("deadlock", line, re.I)]
    circles = [circle for found in dumps for circle in found["circles"] if circle["deadlock"]]
    print(f"{len(claims)} waits; deadlocks told: {said + circles}")
    return good and not said and not circles


def dump(wallspy, pids):
    done = subprocess.run([wallspy, "dump", "--json", "-p", ",".join(map(str, pids))],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- another pid namespace ----

def status(pid, tid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="utf8") as file:
            fields = dict(line.split(":", 1) for line in file)
        return list(map(int, fields["NSpid"].split()))
    return []


def own_pid(number, ancestor):
    """The pid here of the process that is NUMBER in the namespace below ANCESTOR."""
    for name in os.listdir("/proc"):
        ids = status(name, name) if name.isdigit() else []
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
        for tid in map(int, os.listdir(f"/proc/{pid}/task")):
            for own in status(pid, tid)[-1:]:
                tids[own] = tid
    return tids


# ---- circles, fork ----

def find_circle(wallspy, program, n):
    with running([program, "circle", str(n)]) as (process, lines):
        tids = sorted(int(line[1]) for line in lines if line[0] == "tid")
        found = dump(wallspy, [process.pid])["circles"]
        done = subprocess.run([wallspy, "-p", str(process.pid), "-d", "3", "-o", "none"],
                              capture_output=True, text=True, timeout=60, check=False)
        text = " ".join(done.stderr.split())
    right = len(found) == 1 and found[0]["deadlock"] and sorted(found[0]["tids"]) == tids
    said = re.search(r"Deadlock for [\d.]+ s: (.*?)\. Behind it: main", text)
    told = said is not None and all(f" {tid} waits in " in " " + said[1] for tid in tids)
    print(f"circle of {n}: dump {right}, answer {told}")
    if not (right and told):
        print(tids, found, text)
    return right and told


def inherited(wallspy, program):
    with running([program, "inherit"]) as (process, lines):
        parent, child = map(int, lines[-1][1:])
        holder = max(map(int, os.listdir(f"/proc/{parent}/task")))
        waits = [thread["waits_for"] for found in dump(wallspy, [child])["processes"]
                 for thread in found["threads"]]
        text = subprocess.run([wallspy, "dump", "-p", str(child)], capture_output=True, text=True,
                              timeout=60, check=False).stdout
        process.send_signal(signal.SIGKILL)
    print(waits, holder)
    wanted = f"held by {holder}, which is not a thread of this process"
    return (waits[0]["tid"] == holder and waits[0].get("gone") is True and
            wanted in " ".join(text.split()))


def main():
    wallspy, program, what = sys.argv[1:4]
    if what == "contend":
        return contend(wallspy, program, sys.argv[4])
    if what == "namespace":
        inside = [shutil.which("unshare") or "unshare", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            print("no pid namespace can be made here")
            sys.exit(77)
        return contend(wallspy, program, sys.argv[4], inside)
    if what == "circles":
        return all([find_circle(wallspy, program, n) for n in range(1, 6)])
    return inherited(wallspy, program)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
