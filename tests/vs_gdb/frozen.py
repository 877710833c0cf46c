"""A busy target frozen by SIGSTOP at random instants: wallspy must see what others see.

usage: frozen.py [-n INSTANTS] [--seed N] [--whole FILE] WALLSPY GDB_SCRIPT COMMAND ARGS…
       frozen.py [-n INSTANTS] [--seed N] --packages WALLSPY GDB_SCRIPT PYTHON [NAME…]
FILE is COMMAND before its unwind information was taken out: gdb has it, wallspy does not.
The second form runs the programs of packages/, one after the other, those (or of NAMEs those) whose
package PYTHON has: numpy, torch, polars, lxml, gevent, uvloop, numba, and modules built with Cython
and pybind11. Native frames must equal gdb's address for address; Python frames must equal those of
py-spy and of pystack: name, file, line, order.
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
import tempfile
import time

from support.chance import SEED
from support.cpu import running
from support.outcome import Skipped, end_with
from support.processes import state, system_call, threads, wait_until
from support.targets import Target
from support.wallspy import call, dump_json

PACKAGES = pathlib.Path(__file__).resolve().parent / "packages"
# what programs import, if not what they are called
MODULES = {"cython": "cythonized", "pybind11": "bound"}
STARTED_SECONDS = 1.5  # threads are started, modules imported
LONGEST_RUN_SECONDS = 0.2  # between two instants
PYSTACK_FRAME = re.compile(r'\(Python\) File "(.*)", line (\d+), in (.*)$')
PYSTACK_THREAD = re.compile(r"Traceback for thread (\d+)")


# ---- the frozen process ----

def stopped(pid, tid):
    try:
        return state(pid, tid) == "T"
    except OSError:  # it ended
        return True


def freeze(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(stopped(pid, tid) for tid in threads(pid)))


def registers(pid):
    """Of each thread its system call, stack pointer and pc: they show whether it has moved."""
    return {tid: system_call(pid, tid) for tid in threads(pid)}


# ---- what each tool sees: {tid: [frame, …]}, innermost first ----

def run(*command, **options):
    ran = call(command, timeout=300, **options)
    if ran.code != 0:
        raise RuntimeError(f"{command} failed: {ran.stderr}")
    return ran.stdout


def wallspy(program, pid, *options):
    """Its process: the version of Python, and the threads."""
    return dump_json(program, pid, *options, timeout=300)["processes"][0]


def wallspy_native(program, pid):
    """(look-up address, function, guessed) of physical frames: inlined calls come with the one they
    are in."""
    process = wallspy(program, pid, "--internals", "--no-python")
    return {thread["tid"]: [(int(f["address"], 16) if "address" in f else 0, f["name"],
                             f.get("guessed", False))
                            for f in thread["frames"]
                            if f["kind"] == "native" and not f.get("inlined")]
            for thread in process["threads"]}


def wallspy_python(program, pid):
    """CPython's version as in "3.11" or None, and frames as (name, file, line)."""
    process = wallspy(program, pid)
    version = process["python"]
    return version and ".".join(version.split(".")[:2]), {
        thread["tid"]: [(f["name"], f["file"], f.get("line", 0)) for f in thread["frames"]
                        if f["kind"] == "python"] for thread in process["threads"]}


class Gdb:
    """One gdb for all instants: it need not read the symbols again."""

    def __init__(self, script, whole=None):
        known = {"WHOLE": whole} if whole else {}
        self.process = subprocess.Popen(["gdb", "-nx", "-q", "-batch", "-x", script], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env={**os.environ, **known})

    def frames(self, pid):
        """(look-up address, function): a caller's pc is behind its call, but for what a signal
        hit."""
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
    """py-spy cannot tell the tids of 3.10 and earlier without blocking: then by likeness."""
    threads = [(tid, [f for f in frames if f[1] not in SHIMS]) for tid, frames in threads]
    found = {tid: frames for tid, frames in threads if tid is not None}
    for frames in (frames for tid, frames in threads if tid is None):
        free = [tid for tid in ours if tid not in found]
        likeness = {sum(map(same_frame, ours[tid][::-1], frames[::-1])): tid for tid in free}
        found[likeness[max(likeness)]] = frames
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

def is_first_line(frame):
    """Has the function only just been entered?  Source is where f_lasti is −1."""
    with open(frame[1], encoding="utf-8") as source:
        lines = source.readlines()
    return re.match(r"\s*(async def|def|@)", lines[frame[2] - 1])


# Differences that are not ours, each found by hand: peer, versions of CPython that have it, what
# tells it by a frame of ours and one of theirs that differ in the line only, and why.
EXPLAINED = [
    ("pystack", "3.11 3.12 3.13 3.14", lambda ours, theirs: theirs[2] == 0,
     "code without a line (the start of a closure) is line 0"),
    ("pystack", "3.8 3.9 3.10", lambda ours, theirs: is_first_line(ours),
     "a function that has not begun, f_lasti −1, is at its last line"),
    ("py-spy", "3.10", lambda ours, theirs: True,
     "what follows code without a line (in generators, behind handlers) is looked up too early"),
]
# CPython's own frames between those of the program, which wallspy does not show.
SHIMS = "__init__", "<shim>"


def same_address(ours, theirs):
    return ours[0] == theirs[0]


def same_frame(ours, theirs):
    return ours[1:] == theirs[1:] and theirs[0] in (ours[0], ours[0].rpartition(".")[2])


def same_stack(ours, theirs, equal=same_frame):
    return len(ours) == len(theirs) and all(map(equal, ours, theirs))


def explanation(peer, version, ours, theirs):
    if len(theirs) == 3 and same_frame(ours[:2], theirs[:2]):
        for who, versions, tells, why in EXPLAINED:
            if who == peer and version in versions.split() and tells(ours, theirs):
                return why
    return None


def is_landing(ours, theirs):
    """An exception about to land in its handler: libgcc has written the handler's registers and
    return address over its own frame (eh_return), which its CFI cannot say.  Nobody is right from
    there on."""
    for i, frame in enumerate(ours[:3]):
        if str(frame[1]).startswith("_Unwind_"):
            return same_stack(ours[:i + 1], theirs[:i + 1], same_address)
    return False


def is_without_cfi(ours, theirs):
    """Code without unwind information, such as JIT compilers' and hand-written assembly: gdb ends
    there, or takes what it finds for a frame, though that is in no function; wallspy follows the
    code to its return and so to the root, or says that it has guessed the caller."""
    agreed = 0
    while agreed < min(len(ours), len(theirs)) and same_address(ours[agreed], theirs[agreed]):
        agreed += 1
    if any(guessed for _, _, guessed in ours[:agreed + 1]):
        return True
    rooted = agreed < len(ours) and ours[-1][1] in ("_start", "clone", "clone3")
    return agreed > 0 and rooted and (agreed == len(theirs) or theirs[agreed][1] is None)


def is_new_thread(ours, theirs):
    """Right behind clone's system call there is no unwind information; gdb takes what is on the new
    stack for callers."""
    return len(ours) == 1 and ours[0][1] in ("clone", "clone3") and same_stack(ours, theirs[:1],
                                                                               same_address)


# What tells differences from gdb that are not ours, and why.
EXPLAINED_NATIVE = [
    (is_landing, "an exception lands: its frame is rewritten"),
    (is_without_cfi, "code without unwind information"),
    (is_new_thread, "a thread that has not begun"),
]


# A peer that reads nothing of a thread now and then has failed, as py-spy does that finds no
# interpreter.  More of them are a difference.
NO_FRAMES, MOST_WITHOUT = "stacks of which {} reads no frame", 0.02


def show(peer, tid, ours, theirs):
    def text(frame):
        return " ".join(hex(x) if isinstance(x, int) and x > 1 << 20 else str(x) for x in frame)
    print(f"{peer}: thread {tid} differs")
    for who, frames, others in (("wallspy", ours, theirs), (peer, theirs, ours)):
        for i, frame in enumerate(frames):
            mark = " " if i < len(others) and frame[0] == others[i][0] else ">"
            print(f"  {who:8}{mark}{i:3} {text(frame)}")


class Comparison:
    def __init__(self, args):
        self.args = args
        self.gdb = Gdb(args.gdb_script, args.whole)
        self.peers = {name: shutil.which(name) for name in ("py-spy", "pystack")}
        self.counts = collections.Counter()

    def compare(self, peer, version, ours, theirs, equal):
        for tid in sorted(set(ours) | set(theirs)):
            a, b = ours.get(tid, []), theirs.get(tid, [])
            if same_stack(a, b, equal):
                continue
            reasons = {None} if len(a) != len(b) else {
                explanation(peer, version, x, y) for x, y in zip(a, b) if not equal(x, y)}
            if peer != "gdb" and a and not b:
                self.counts[NO_FRAMES.format(peer)] += 1
                continue
            if peer == "gdb":
                allowed = [e for e in EXPLAINED_NATIVE if not self.args.whole or
                           e[0] != is_without_cfi]
                reasons = {why for tells, why in allowed if tells(a, b)} or {None}
            if None in reasons:
                self.counts["unexplained differences"] += 1
                show(peer, tid, a, b)
                continue
            for why in reasons:
                self.counts[f"stacks where {peer} differs: {why}"] += 1

    def ask_peers(self, pid, ours):
        """What each sees.  py-spy now and then finds no interpreter; then there is nothing to
        compare."""
        found = {}
        for name, dump in (("py-spy", py_spy), ("pystack", pystack)):
            try:
                if self.peers[name]:
                    found[name] = with_tids(dump(self.peers[name], pid), ours)
                    self.counts[f"dumps of {name}"] += 1
            except RuntimeError as error:
                self.counts[f"failures of {name}"] += 1
                print(error.args[0].splitlines()[0])
        return found

    def at_instant(self, pid):
        """Returns False if the instant was lost: gdb, attaching, now and then lets a stopped target
        run."""
        before = registers(pid)
        ours = wallspy_native(self.args.wallspy, pid)
        version, python = wallspy_python(self.args.wallspy, pid)
        peers = self.ask_peers(pid, python) if version else {}
        assert registers(pid) == before, "the target moved"
        gdb = self.gdb.frames(pid)
        if registers(pid) != before:
            self.counts["instants lost: gdb let the target run"] += 1
            return False
        self.compare("gdb", version, ours, gdb, same_address)
        for name, theirs in peers.items():
            self.compare(name, version, python, theirs, same_frame)
        self.counts["threads"] += len(ours)
        self.counts["native frames"] += sum(map(len, ours.values()))
        self.counts["Python frames"] += sum(map(len, python.values()))
        return True

    def missing(self):
        return [name for name, path in self.peers.items() if not path]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("wallspy")
    parser.add_argument("gdb_script")
    parser.add_argument("-n", type=int, default=20, dest="instants")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--whole")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def watch(args, command, chance):
    """Freezes COMMAND at some instants.  Returns the counts, which it prints, and the peers that
    saw nothing."""
    comparison = Comparison(args)
    with Target(command, "running") if args.packages else \
            running(command, stdout=subprocess.DEVNULL) as target:
        if not args.packages:
            time.sleep(STARTED_SECONDS)
        done = 0
        while done < args.instants:
            time.sleep(chance.random() * LONGEST_RUN_SECONDS)
            freeze(target.pid)
            done += comparison.at_instant(target.pid)
            os.kill(target.pid, signal.SIGCONT)
    comparison.gdb.close()
    for what, n in comparison.counts.items():
        print(f"{n:6} {what}")
    most = max(1, MOST_WITHOUT * comparison.counts["threads"])
    unseen = [name for name in comparison.peers
              if comparison.counts[NO_FRAMES.format(name)] > most or
              (comparison.counts[f"failures of {name}"] and
               not comparison.counts[f"dumps of {name}"])]
    return comparison, unseen


def has(python, module, folder):
    return subprocess.run([python, "-c", f"import {module}"], cwd=folder, capture_output=True,
                          check=False).returncode == 0


def watch_packages(args, chance, python, *names):
    """Returns whether all went well."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(PACKAGES, pathlib.Path(folder, "packages"))
        run(python, "setup.py", "-q", "build_ext", "--inplace", cwd=copy)
        for program in sorted(copy.glob("use_*.py")):
            name = program.stem.removeprefix("use_")
            module = MODULES.get(name, name)
            if (names and name not in names) or not has(python, module, copy):
                continue
            print(f"{name}:")
            comparison, unseen = watch(args, [python, program], chance)
            good &= not unseen and not comparison.counts["unexplained differences"]
    return good


def main():
    args = parse()
    if not shutil.which("gdb"):
        raise Skipped("gdb is not installed")
    print(f"WALLSPY_SEED={args.seed}")
    chance = random.Random(args.seed)
    if args.packages:
        return watch_packages(args, chance, *args.command)
    comparison, unseen = watch(args, args.command, chance)
    if comparison.counts["unexplained differences"] or unseen:
        return False
    if comparison.counts["Python frames"] and comparison.missing():
        raise Skipped("not installed: " + " ".join(comparison.missing()))
    return True


if __name__ == "__main__":
    end_with(main)
