"""Jobs of 4 to 64 real processes that hang by a fault of one of them, and jobs that are well: is
the odd rank in the first line of `wallspy report`, and in no other case anybody?

Each job (job.py) is dumped host by host, where a host is a name in a UTS namespace, and all dumps
go through a pipe.

usage: hangs.py WALLSPY [quick|all] [--show]
"""
import json
import pathlib
import subprocess
import sys
import time

from support.outcome import Skipped, end_with
from support.programs import IS_ROOT, programs
from support.targets import Target
from support.wallspy import call

JOB = pathlib.Path(__file__).with_name("job.py")
RANKS_OF_A_HOST, BETWEEN_ROUNDS_S = 8, 1.5
# The way that ranks talk, how many there are, the fault, whose it is.
HANGS = """
ring 8 missing_collective 3    star 4 missing_collective 2    barrier 16 missing_collective 15
ring 4 load_batch 1            star 64 load_batch 37          barrier 8 load_batch 0
pipeline 6 load_batch 3        star 8 fifo 5                  ring 6 back_off 0
barrier 8 back_off 7           ring 16 collect_garbage 9      star 6 collect_garbage 1
ring 8 compute 4               star 16 compute 0              barrier 4 compute 3
ring 6 compute_in_c 5          star 8 compute_in_c 7          ring 8 die 6
star 16 die 11                 barrier 6 die 2                pipeline 8 die 4
ring 4 stop 3                  star 8 stop 0                  barrier 64 stop 50
pipeline 4 stop 1              ring 6 other_size 2            star 8 other_size 6
ring 8 file_lock 2             star 4 file_lock 3             ring 6 wait_for_thread 4
barrier 8 wait_for_thread 1    star 6 run_command 2           ring 8 ask_server 7
barrier 6 ask_server 5         star 8 write_log 4             ring 4 ask_debugger 2
star 16 finish_early 8         ring 6 finish_early 1          barrier 8 wait_for_worker 6
ring 16 hold_the_gil 12        spin 4 load_batch 2            spin 6 stop 1
spin 4 die 0                   hub 8 load_batch 3             hub 6 compute 5
hub 16 stop 9                  hub 8 missing_collective 2
"""
# In two rounds: the others spin, so that one look finds all running.
TWICE = """
spin 4 compute 3    spin 4 collect_garbage 1    ring 8 compute 2
"""
HEALTHY = """
ring 4 uneven    star 8 uneven    barrier 16 uneven    ring 64 uneven    ring 8 long_steps
star 6 load_evenly    barrier 8 serve    star 8 master    ring 6 sleepers    ring 4 spin
hub 8 uneven
"""
# The odd one's connections stay as they were.
CHAIN_FAULTS = ("stop", "load_batch", "back_off", "compute")
QUICK = ["ring 8 missing_collective", "star 8 fifo", "barrier 4 compute", "hub 8 load_batch",
         "pipeline 8 die",
         "ring 4 stop", "star 6 run_command", "ring 4 uneven", "barrier 8 serve"]


def cases(table, words):
    found = table.split()
    return [tuple(found[i:i + words]) for i in range(0, len(found), words)]


def is_running(pid):
    return pathlib.Path(f"/proc/{pid}/fd/0").exists()


def named(host):
    """The words that run a command on a machine of that name."""
    return ["unshare", "--uts", "sh", "-c", f'hostname {host} && exec "$@"', "sh"]


def dump_all(pids):
    """What a launcher would bring of all hosts."""
    lines = ""
    for at in range(0, len(pids), RANKS_OF_A_HOST):
        alive = [pid for pid in pids[at:at + RANKS_OF_A_HOST] if is_running(pid)]
        if alive:
            lines += call([*named(f"node{at // RANKS_OF_A_HOST}"), programs["wallspy"], "dump",
                           "--json", "-p", ",".join(alive)]).stdout
    return lines


def check_connections(lines):
    """Each connection of a rank is another one's the other way round, and a wait names its end."""
    processes = [p for line in documents(lines) for p in line["processes"]]
    ends = {(c["local"], c["remote"]) for p in processes for c in p["connections"]}
    assert ends and all((remote, local) in ends for local, remote in ends), ends
    remotes = [w["remote"] for p in processes for t in p["threads"]
               if (w := t["waits_for"]) and "remote" in w]
    assert remotes and set(remotes) <= {local for local, _ in ends}, remotes


def documents(lines):
    decoder, at = json.JSONDecoder(), 0
    while at < len(lines):
        document, end = decoder.raw_decode(lines, at)
        yield document
        at = end + len(lines[end:]) - len(lines[end:].lstrip())


def report(lines):
    return subprocess.run([programs["wallspy"], "report", "-"], input=lines.encode(), check=True,
                          stdout=subprocess.PIPE, timeout=60).stdout.decode()


def look_at(way, ranks, fault, odd="-1", rounds=1):
    """The report of one job, of two dumps of each rank if ROUNDS is 2."""
    with Target([sys.executable, JOB, way, ranks, fault, odd], gently=True) as job:
        lines = dump_all(job.first.split())
        if rounds == 2:
            time.sleep(BETWEEN_ROUNDS_S)
            lines += dump_all(job.first.split())
        elif way == "ring" and fault in CHAIN_FAULTS:
            check_connections(lines)
        return report(lines)


def is_right(text, odd):
    """ODD: the rank; "": there is none, and then none may be told to be elsewhere."""
    first = text.splitlines()[0]
    if odd:
        return first.startswith(f"rank {odd} ")
    return first.startswith("all ") or first.endswith("none stands out")


def check_chain(case, text):
    """In a ring of processes of this host each wait leads to the next, rank 0 of a hub waits for
    the one that does not wait for it, and those at a barrier for the one that is not there: they
    end at the odd one."""
    way, ranks, fault, odd = case[:4]
    if way in ("ring", "hub", "barrier") and fault in CHAIN_FAULTS:
        end = f"{int(ranks) - 1} ranks wait, straight or through others, for rank {odd} ("
        assert end in text, text


def judge(wanted, show, rounds=1):
    """How many of the cases WANTED are right, and the first lines of the others."""
    wrong = []
    for case in wanted:
        text = look_at(*case, rounds=rounds)
        odd = case[3] if len(case) > 3 else ""
        if show:
            print(" ".join(case), "::", text.splitlines()[0], flush=True)
        assert all(len(line) <= 79 for line in text.splitlines()), text
        if odd:
            check_chain(case, text)
        if not is_right(text, odd):
            wrong.append(" ".join(case) + ": " + text)
    return wrong


def check(wallspy, which="all", show=""):
    programs["wallspy"] = wallspy
    if not IS_ROOT or call(["unshare", "--uts", "true"]).code:
        raise Skipped("hosts of other names take root")
    quick = which == "quick"
    hangs = [c for c in cases(HANGS, 4) if not quick or " ".join(c[:3]) in QUICK]
    healthy = [c for c in cases(HEALTHY, 3) if not quick or " ".join(c) in QUICK]
    twice = [] if quick else cases(TWICE, 4)
    missed = judge(hangs, show) + judge(twice, show, rounds=2)
    hangs += twice
    alarmed = judge(healthy, show)
    if not quick:
        alarmed += judge(healthy, show, rounds=2)
        healthy *= 2
    print(f"{len(hangs) - len(missed)} of {len(hangs)} odd ranks in the first line, "
          f"{len(alarmed)} false alarms of {len(healthy)}")
    print(*missed, *alarmed, sep="\n")
    assert not alarmed and len(missed) * 20 <= (0 if quick else len(hangs))


if __name__ == "__main__":
    end_with(check, *sys.argv[1:])
