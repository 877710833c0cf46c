"""Who has which lock when: what a program records itself, and what wallspy tells
(WALLSPY_TRACE=wait).  Is each holder that wallspy tells the right one?

The program prints "kind LOCK KIND" of each lock, "waiter LOCK TID" of each thread, and "held LOCK
TID ASKED TOOK GIVES GAVE" each time that a thread had a lock, in nanoseconds.
"""
import bisect
import collections
import re

from .measure import Found

SURE_NS = 300_000  # of a hold's both ends: a holder is sure in between
# Of the holders, each with this probability: another thread may run Python just then.
LEAST_FOUND = 0.95
THREAD, SHARED = 1, 9  # enum blocker_kind
Hold = collections.namedtuple("Hold", "tid asked took gives gave")
PY_LOCK = 5  # enum wait_thing: the look is over when its line is printed
Claim = collections.namedtuple("Claim", "waiter at until thing holder tid")


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
    # Whoever took it before has given it up by then, but the last of them.
    first = max(0, bisect.bisect_left([hold.took for hold in holds], claim.at - 200_000_000) - 1)
    for number, hold in enumerate(holds[first:], first):
        if hold.asked > claim.until:
            break
        since = max(hold.asked, holds[number - 1].gives if number else 0)
        if tids(hold.tid) == claim.tid and since <= claim.until and claim.at <= hold.gave:
            return True
    return False


def around(holds, at, tids):
    """Who had the lock about then: the thread, and milliseconds before and after."""
    return [(tids(hold.tid), *[round((when - at) / 1e6, 2) for when in hold[1:]])
            for hold in holds if abs(hold.took - at) < 50_000_000]


def sure_holder(holds, claim):
    """Who surely had the lock while wallspy looked; None: nobody, or it changed hands."""
    until = claim.until if claim.thing == PY_LOCK else claim.at + SURE_NS
    for hold in holds:
        if hold.took + SURE_NS <= claim.at and until <= hold.gives:
            return hold.tid
    return None


def waits_for_lock(own, at):
    """Is the thread with the holds OWN in the call that takes the lock?  It is not in a wait on a
    condition, which begins where a hold ends, nor done with the wait by now."""
    gives = {hold.gives for hold in own}
    return any(hold.asked <= at <= hold.took and hold.asked not in gives for hold in own)


class Row(collections.Counter):
    """Of the locks of a kind: how often a holder was told, and a wrong one; how often one was
    there, and found."""

    def add(self, claim, lock, own_tid, tids):
        """A CLAIM of the thread that calls itself OWN_TID, on a lock with the holds LOCK."""
        if claim.holder == THREAD:
            self["told"] += 1
            self["wrong"] += not may_hold(lock, claim, tids)
        elif claim.holder not in (0, SHARED):  # whoever has a file's lock is nobody in particular
            self["wrong"] += 1
        own = [hold for hold in lock if hold.tid == own_tid]
        if own and not waits_for_lock(own, claim.at):
            return
        holder = sure_holder(lock, claim)
        if holder is not None and holder != own_tid:
            self["there"] += 1
            self["found"] += claim.holder == THREAD and claim.tid == tids(holder)


def judge(claims, records, tids):
    """Prints a line for each kind, and what is wrong.  RECORDS: of parse_records().  TIDS: what
    wallspy calls the thread that calls itself so.  Returns {kind: Row}."""
    kinds, waiters, holds = records
    by_own = {tids(tid): (tid, lock) for tid, lock in waiters.items()}
    rows = {kind: Row() for kind in sorted(set(kinds.values()))}
    for claim in claims:
        if claim.waiter not in by_own:
            continue
        own_tid, lock = by_own[claim.waiter]
        row = rows[kinds[lock]]
        before = row["wrong"]
        row.add(claim, holds[lock], own_tid, tids)
        if before < row["wrong"] <= 3:
            print("wrong:", claim, around(holds[lock], claim.at, tids))
    for kind, row in rows.items():
        print(f"{kind:18} told {row['told']:5}  wrong {row['wrong']}  "
              f"found {row['found']} of {row['there']}")
    return rows


def count_wrong(rows):
    return sum(row["wrong"] for row in rows.values())


def found(rows, catches):
    """{kind: Found} of ROWS, for support.measure's measured()."""
    return {kind: Found(row["found"], row["there"], LEAST_FOUND, catches)
            for kind, row in rows.items()}


def parse_claims(stderr):
    pattern = re.compile(r"(\d+)\.(\d{6}) wait (\d+) at (\d+) to (\d+): "
                         r"thing (\d+), holder (\d+), (-?\d+) of \d+")
    claims = []
    for words in pattern.findall(stderr):
        seconds, micros, waiter, at, until, thing, holder, tid = map(int, words)
        printed = seconds * 1_000_000_000 + (micros + 1) * 1000
        until = printed if thing == PY_LOCK else until
        claims.append(Claim(waiter, at, until, thing, holder, tid))
    return claims
