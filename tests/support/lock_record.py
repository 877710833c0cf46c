"""Who has which lock when: what a program records itself, and what wallspy tells
(WALLSPY_TRACE=wait).  Is each holder that wallspy tells the right one?

The program prints "kind LOCK KIND" of each lock, "waiter LOCK TID" of each thread, and "held LOCK
TID ASKED TOOK GIVES GAVE" each time that a thread had a lock, in nanoseconds.
"""
import bisect
import collections
import re

SLACK_NS = 8_000_000  # wallspy reads a futex right after the clock, but may lose the CPU between
SURE_NS = 300_000  # of a hold's both ends: a holder is sure in between
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
    first = bisect.bisect_left([hold.took for hold in holds], claim.at - 200_000_000)
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


def judge(claims, kinds, waiters, holds, tids, sure=None, look_ns=SURE_NS,
          least=LEAST_FOUND):
    """Prints a line for each kind.  TIDS: what wallspy calls the thread that calls itself so.
    SURE: the kinds whose holders have to be found; None: all.  LOOK_NS: how long a wait has to
    last for that.  LEAST: the part of them that has to be found."""
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
        elif claim.holder not in (0, SHARED):  # whoever has a file's lock is nobody in particular
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
        found = row["told"] > 0 and row["found"] >= least * row["there"]
        fine = not row["wrong"] and (found or (sure is not None and kind not in sure))
        print(f"{kind:16} told {row['told']:5}  wrong {row['wrong']}  "
              f"found {row['found']} of {row['there']}" + ("" if fine else "  NO"))
        good = good and fine
    return good


def parse_claims(stderr):
    pattern = re.compile(r"(\d+)\.(\d{6}) wait (\d+) at (\d+): "
                         r"thing (\d+), holder (\d+), (-?\d+) of \d+")
    claims = []
    for found in pattern.findall(stderr):
        seconds, micros, waiter, at, thing, holder, tid = map(int, found)
        printed = seconds * 1_000_000_000 + (micros + 1) * 1000
        until = printed if thing == PY_LOCK else at + SLACK_NS
        claims.append(Claim(waiter, at, until, thing, holder, tid))
    return claims
