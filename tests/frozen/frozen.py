"""A busy target frozen by SIGSTOP at random instants: wallspy must see what others see.

usage: frozen.py [-n INSTANTS] [--seed N] WALLSPY GDB_SCRIPT COMMAND ARGS…
Native frames must equal gdb's address for address; Python frames must equal those of py-spy and of
pystack: name, file, line, order.
Exits 0 if all is equal or explained, 1 with the differences if not, 77 if a peer is missing.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77
STARTED_SECONDS = 1.5  # threads are started, modules imported
LONGEST_RUN_SECONDS = 0.2  # between two instants
PYSTACK_FRAME = re.compile(r'\(Python\) File "(.*)", line (\d+), in (.*)$')
PYSTACK_THREAD = re.compile(r"Traceback for thread (\d+)")

Difference = collections.namedtuple("Difference", "peer tid at ours theirs")


# ---- the frozen process ----

def stopped(pid, tid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/task/{tid}/stat").read_text()
    except OSError:  # it ended
        return True
    return stat.rpartition(")")[2].split()[0] == "T"


def tasks(pid):
    return sorted(int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def freeze(pid):
    os.kill(pid, signal.SIGSTOP)
    while not all(stopped(pid, tid) for tid in tasks(pid)):
        time.sleep(0.001)


def registers(pid):
    """Of each thread its system call, stack pointer and pc: they show whether it has moved."""
    return {tid: pathlib.Path(f"/proc/{pid}/task/{tid}/syscall").read_text() for tid in tasks(pid)}


# ---- what each tool sees: {tid: [frame, …]}, innermost first ----

def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command} failed: {done.stderr}")
    return done.stdout


def wallspy(program, pid, *options):
    dump = json.loads(run(program, "dump", "--json", *options, "-p", pid))
    return {thread["tid"]: thread for thread in dump["processes"][0]["threads"]}


def wallspy_native(program, pid):
    """(look-up address, function) of physical frames: inlined calls come with the one they are in."""
    threads = wallspy(program, pid, "--internals", "--no-python")
    return {tid: [(int(f["address"], 16) if "address" in f else 0, f["name"])
                  for f in thread["frames"] if f["kind"] == "native" and not f.get("inlined")]
            for tid, thread in threads.items()}


def wallspy_python(program, pid):
    return {tid: [(f["name"], f["file"], f.get("line", 0))
                  for f in thread["frames"] if f["kind"] == "python"]
            for tid, thread in wallspy(program, pid).items()}


class Gdb:
    """One gdb for all instants: it need not read the symbols again."""

    def __init__(self, script):
        self.process = subprocess.Popen(["gdb", "-nx", "-q", "-batch", "-x", script], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def frames(self, pid):
        """(look-up address, function): a caller's pc is behind its call, but for what a signal hit."""
        self.process.stdin.write(f"{pid}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        while not line.startswith("{"):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("gdb ended")
        threads = {}
        for tid, frames in json.loads(line).items():
            threads[int(tid)] = found = []
            exact = True
            for pc, kind, name in frames:
                found.append((pc if exact or kind == "signal" else pc - 1, name))
                exact = kind == "signal"
        return threads

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def py_spy(program, pid):
    """--nonblocking: it cannot suspend a process that is stopped."""
    return [(thread["os_thread_id"], [(f["name"], f["filename"], f["line"])
                                      for f in thread["frames"]])
            for thread in json.loads(run(program, "dump", "--nonblocking", "--json", "--pid", pid))]


def with_tids(threads, ours):
    """py-spy cannot tell the tids of 3.10 and earlier without blocking: then by what is equal."""
    found = {tid: frames for tid, frames in threads if tid is not None}
    for frames in (frames for tid, frames in threads if tid is None):
        free = [tid for tid in ours if tid not in found]
        found[next((tid for tid in free if same_stack(ours[tid], frames)), free[0])] = frames
    return found


def pystack(program, pid):
    threads, frames = [], []
    for line in run(program, "remote", "--no-color", "--no-block", pid).splitlines():
        head, frame = PYSTACK_THREAD.search(line), PYSTACK_FRAME.search(line)
        if head:
            frames = []
            threads.append((int(head[1]), frames))
        elif frame:
            frames.insert(0, (frame[3], frame[1], int(frame[2])))
    return threads


# ---- comparison ----

def same_address(a, b):
    return a[0] == b[0]


def same_frame(ours, theirs):
    return ours[1:] == theirs[1:] and theirs[0] in (ours[0], ours[0].rpartition(".")[2])


def same_stack(a, b, equal=same_frame):
    return len(a) == len(b) and all(map(equal, a, b))


def compare(peer, ours, theirs, equal):
    found = []
    for tid in sorted(set(ours) | set(theirs)):
        a, b = ours.get(tid, []), theirs.get(tid, [])
        if same_stack(a, b, equal):
            continue
        at = next((i for i, pair in enumerate(zip(a, b)) if not equal(*pair)), min(len(a), len(b)))
        found.append(Difference(peer, tid, at, a, b))
    return found


# Differences that are not ours: (peer, what tells it, why).
EXPLAINED = []


def explanation(difference):
    return next((why for peer, tells, why in EXPLAINED
                 if peer == difference.peer and tells(difference)), None)


def show(difference):
    def text(frame):
        return " ".join(hex(x) if isinstance(x, int) and x > 1 << 20 else str(x) for x in frame)
    print(f"{difference.peer}: thread {difference.tid} differs at frame {difference.at}")
    for side, frames in (("wallspy", difference.ours), (difference.peer, difference.theirs)):
        for i, frame in enumerate(frames):
            mark = ">" if i == difference.at else " "
            print(f"  {side:8}{mark}{i:3} {text(frame)}")


class Comparison:
    def __init__(self, args):
        self.args = args
        self.gdb = Gdb(args.gdb_script)
        self.peers = {name: shutil.which(name) for name in ("py-spy", "pystack")}
        self.counts = collections.Counter()
        self.unexplained = 0

    def at_instant(self, pid):
        before = registers(pid)
        found = compare("gdb", native := wallspy_native(self.args.wallspy, pid),
                        self.gdb.frames(pid), same_address)
        self.counts["threads"] += len(native)
        self.counts["native frames"] += sum(map(len, native.values()))
        python = wallspy_python(self.args.wallspy, pid)
        if any(python.values()):
            self.counts["Python frames"] += sum(map(len, python.values()))
            for name, dump in (("py-spy", py_spy), ("pystack", pystack)):
                if self.peers[name]:
                    theirs = with_tids(dump(self.peers[name], pid), python)
                    found += compare(name, python, theirs, same_frame)
        assert registers(pid) == before, "the target moved"
        return found

    def count(self, found):
        for difference in found:
            why = explanation(difference)
            self.counts[f"differs from {difference.peer}: {why}" if why else "unexplained"] += 1
            if not why:
                show(difference)

    def missing(self):
        return [name for name, path in self.peers.items() if not path]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("wallspy")
    parser.add_argument("gdb_script")
    parser.add_argument("-n", type=int, default=20, dest="instants")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    args = parse()
    if not shutil.which("gdb"):
        print("gdb is not installed")
        return SKIPPED
    print(f"seed {args.seed}")
    chance = random.Random(args.seed)
    comparison = Comparison(args)
    with subprocess.Popen(args.command, stdout=subprocess.DEVNULL) as target:
        try:
            time.sleep(STARTED_SECONDS)
            for _ in range(args.instants):
                freeze(target.pid)
                comparison.count(comparison.at_instant(target.pid))
                os.kill(target.pid, signal.SIGCONT)
                time.sleep(chance.random() * LONGEST_RUN_SECONDS)
        finally:
            target.kill()
    comparison.gdb.close()
    for what, n in comparison.counts.items():
        print(f"{n:6} {what}")
    if comparison.counts["unexplained"]:
        return 1
    if comparison.counts["Python frames"] and comparison.missing():
        print("not installed:", *comparison.missing())
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
