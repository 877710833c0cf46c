#!/usr/bin/env python3
"""Waits in the kernel, one of each kind, whose other side a program knows: what do a dump and a
recording say of them?  And of those whose other side two processes have: is nobody named?

usage: wait_peers.py WALLSPY

ss and lslocks are asked, too, where they are installed: do they say the same?
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from support.outcome import EXIT_SKIPPED, end_with, skip_part
from support.targets import Target
from support.wallspy import call, dump_json, dump_text, dump_threads, record_folded

# Each thread is called as its wait is, and waits for ever.  Prints what it knows: for each wait the
# kind, the pid of the other side (null: none may be named), and what the words must have.
PROGRAM = r'''
import ctypes, fcntl, json, os, select, socket, subprocess, sys, threading, time
folder = sys.argv[1]
known = {}
threads = []
def wait(name, kind, pid, words, call, *args):
    known[name] = [kind, pid, words]
    threads.append(threading.Thread(target=call, args=args, name=name, daemon=True))
def run(code, *args, **more):
    return subprocess.Popen([sys.executable, "-c", code, *args], **more)
def sleeper(**more):
    return subprocess.Popen(["sleep", "600"], **more)

child = sleeper()
wait("child", "child", child.pid, "sleep", os.waitpid, child.pid, 0)
other = sleeper()
wait("waitid", "child", other.pid, "sleep", os.waitid, os.P_PID, other.pid, os.WEXITED)
wait("any", "child", None, "children", os.wait)

one = sleeper(stdout=subprocess.PIPE)
wait("read", "pipe", one.pid, "sleep", os.read, one.stdout.fileno(), 1)
second = sleeper(stdout=subprocess.PIPE)  # the same stack
wait("again", "pipe", second.pid, "sleep", os.read, second.stdout.fileno(), 1)
full = sleeper(stdin=subprocess.PIPE)
wait("write", "pipe", full.pid, "sleep", os.write, full.stdin.fileno(), b"x" * 1000000)
r, w = os.pipe()
two = [sleeper(stdout=w), sleeper(stdout=w)]
os.close(w)
both = f"2 processes: {two[0].pid} (sleep), {two[1].pid} (sleep)"
wait("shared", "pipe", None, both, os.read, r, 1)
own = os.pipe()
wait("own", "pipe", os.getpid(), "", os.read, own[0], 1)
fifo = folder + "/fifo"
os.mkfifo(fifo)
feeder = run("import sys, time; f = open(sys.argv[1], 'w'); time.sleep(600)", fifo)
named = os.open(fifo, os.O_RDONLY)
wait("fifo", "pipe", feeder.pid, "", os.read, named, 1)

near, far = socket.socketpair()
partner = sleeper(stdin=far)
far.close()
wait("unix", "socket", partner.pid, "sleep", near.recv, 1)

listener = socket.create_server(("127.0.0.1", 0))
port = listener.getsockname()[1]
silent = run("import socket, sys, time\n"
             "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
             "kept = [s.accept() for _ in range(5)]; time.sleep(600)",
              stdout=subprocess.PIPE, text=True)
upstream = int(silent.stdout.readline())
to = [socket.create_connection(("127.0.0.1", upstream)) for _ in range(5)]
known["upstream"] = upstream
client = socket.create_connection(("127.0.0.1", port))
served, where = listener.accept()
server = f"127.0.0.1:{upstream} of {silent.pid} ("
wait("tcp", "socket", silent.pid, server, to[0].recv, 1)
wait("silent", "socket", silent.pid, "), nothing received", to[0].recv, 1)
wait("send", "socket", silent.pid, "), not all acknowledged", to[1].sendall, b"x" * 50000000)
wait("served", "socket", None, f"client 127.0.0.1:{where[1]}", served.recv, 1)
wait("accept", "socket", None, f"connections to 127.0.0.1:{port}", listener.accept)
six = listener
if socket.has_dualstack_ipv6():
    six = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
mapped = socket.socket(six.family)
mapped.connect(("::ffff:127.0.0.1", upstream) if six.family == socket.AF_INET6 else
               ("127.0.0.1", port))
wait("mapped", "socket", silent.pid if six.family == socket.AF_INET6 else os.getpid(),
     f"127.0.0.1:{upstream} of" if six.family == socket.AF_INET6 else "", mapped.recv, 1)

def epolled():
    e = select.epoll()
    for s in to[2:]: e.register(s, select.EPOLLIN)
    e.register(own[0], select.EPOLLIN)
    e.poll()
wait("epoll", "poll", None, f"3 connections to 127.0.0.1:{upstream}, nothing received", epolled)
def polled(*fds):
    p = select.poll()
    for fd in fds: p.register(fd, select.POLLIN)
    p.poll()
wait("poll", "poll", None, f"a connection to 127.0.0.1:{upstream}, "
     f"nothing received; listening on 127.0.0.1:{port}", polled, to[2], listener)
def dupped(fd, n):
    polled(*[os.dup(fd) for _ in range(n)])
wait("alone", "socket", silent.pid, f"127.0.0.1:{upstream} of {silent.pid} (", polled, to[2])
wait("asked", "poll", silent.pid, f"a connection to 127.0.0.1:{upstream} of {silent.pid} (",
     select.select, [to[2]], [], [])
wait("many", "poll", None, f"512 connections to 127.0.0.1:{upstream}, nothing received; "
     "and 38 more", dupped, to[2].fileno(), 550)
wait("except", "poll", None, "3 connections to", select.select, [to[2]], [], [to[3], to[4]])
wait("outputs", "pipe", one.pid, "sleep", polled, one.stdout)
wait("select", "poll", None, f"2 connections to 127.0.0.1:{upstream}, nothing received",
     select.select, [to[2], to[3]], [], [])
def once():  # what a one-shot item had is taken: it waits for the connection alone
    e = select.epoll()
    taken = os.pipe()
    os.write(taken[1], b"x")
    e.register(taken[0], select.EPOLLIN | select.EPOLLONESHOT)
    e.register(to[2], select.EPOLLIN)
    while len(e.poll(0)) == 0: pass
    e.poll()
wait("once", "poll", silent.pid, f"a connection to 127.0.0.1:{upstream} of {silent.pid} (", once)
if hasattr(os, "pidfd_open"):
    wait("pidfd", "poll", child.pid, "the end of", polled, os.pidfd_open(child.pid))

def holder(path, statement):
    p = run("import fcntl, sys, time\nf = open(sys.argv[1], 'r+')\n" + statement +
            "\nprint('held', flush=True); time.sleep(600)", path, stdout=subprocess.PIPE)
    p.stdout.readline()
    return p
paths = [folder + "/lock%d" % i for i in range(5)]
files = []
for path in paths:
    open(path, "w").close()
    files.append(open(path, "r+"))
flocker = holder(paths[0], "fcntl.flock(f, fcntl.LOCK_EX)")
wait("flock", "file-lock", flocker.pid, "", fcntl.flock, files[0], fcntl.LOCK_SH)
posix = holder(paths[1], "fcntl.lockf(f, fcntl.LOCK_EX, 100, 50)")
far_away = holder(paths[1], "fcntl.lockf(f, fcntl.LOCK_EX, 100, 500)")  # no lock that is in the way
wait("lockf", "file-lock", posix.pid, "", fcntl.lockf, files[1], fcntl.LOCK_EX, 10, 100)
more = holder(paths[4], "fcntl.lockf(f, fcntl.LOCK_EX, 100, 50)")
fcntl.lockf(files[4], fcntl.LOCK_EX, 10)  # what it has itself is in nobody's way
wait("more", "file-lock", more.pid, "", fcntl.lockf, files[4], fcntl.LOCK_EX, 10, 100)
readers = [holder(paths[2], "fcntl.lockf(f, fcntl.LOCK_SH)") for _ in range(2)]
both = f"2 processes: {readers[0].pid} ("
wait("readers", "file-lock", None, both, fcntl.lockf, files[2], fcntl.LOCK_EX)
# Taken by a process that has ended, and kept by its child: who shows it has it.
inherited = run("import fcntl, os, sys, time\nf = open(sys.argv[1], 'r+')\n"
                "fcntl.flock(f, fcntl.LOCK_EX)\npid = os.fork()\n"
                "if pid: print(pid, flush=True); os._exit(0)\ntime.sleep(600)", paths[3],
                stdout=subprocess.PIPE, text=True)
heir = int(inherited.stdout.readline())
inherited.wait()
wait("heir", "file-lock", heir, "", fcntl.flock, files[3], fcntl.LOCK_EX)

helpers = [child, other, one, second, full, *two, feeder, partner, silent, flocker, posix,
           far_away, more, *readers]
for t in threads: t.start()
time.sleep(0.5)
print(json.dumps({"known": known, "helpers": [h.pid for h in helpers] + [heir]}), flush=True)
sys.stdin.read()
'''


def waits_of(wallspy, pid):
    return {t["name"]: t["waits_for"] for t in dump_threads(wallspy, pid)}


def check_dump(wallspy, pid, known):
    """Does it say what the program knows?  Twice: nothing it did the first time counts."""
    wrong = []
    for told in (waits_of(wallspy, pid), waits_of(wallspy, pid)):
        for name, (kind, other, words) in known.items():
            side = told[name] or {}
            good = (side.get("kind") == kind and side.get("pid") == other and
                    words in side.get("what", ""))
            if not good:
                wrong.append((name, (kind, other, words), side))
    for line in wrong:
        print("wrong:", *line)
    return not wrong


def check_text(wallspy, pid, known):
    """Threads with the same stack and other sides of their own: is each there?"""
    text = dump_text(wallspy, pid)
    missing = [name for name, (_, other, _) in known.items()
               if other and not re.search(rf"\b{other}\b", text)]
    print("not in the text:", missing)
    return not missing


def check_recording(wallspy, pid, known, upstream):
    """Addresses are in the names of frames, and ports of single clients are not."""
    stacks, said = record_folded(wallspy, ["-q", "-d", "3"], ["-p", pid])
    # The heaviest of each thread: the first samples may come before the look at the other side.
    leaves = {stack[0].split(" ")[0]: stack[-1]
              for stack, _ in sorted(stacks, key=lambda row: row[1])}
    expected = {"tcp": rf"recvfrom 127\.0\.0\.1:{upstream} \[blocked\]",
                "send": rf"sendto 127\.0\.0\.1:{upstream} \[blocked\]",
                "served": r"recvfrom client of :\d+ \[blocked\]",
                "accept": r"accept4 127\.0\.0\.1:\d+ \[blocked\]",
                "alone": rf"poll 127\.0\.0\.1:{upstream} \[blocked\]",
                "read": r"read pipe \[blocked\]", "child": r"wait4 \[blocked\]"}
    wrong = {name: leaves.get(name) for name, leaf in expected.items()
             if not re.fullmatch(leaf, leaves.get(name) or "")}
    print("recorded:", {name: leaves.get(name) for name in expected}, said)
    return not wrong


def check_tools(known, pid):
    """The program's own knowledge against ss and lslocks."""
    good = True
    if shutil.which("ss"):
        unix = call(["ss", "-xpH"]).stdout
        lines = [line.split() for line in unix.splitlines()]
        ends = {line[5]: (line[7], " ".join(line[8:])) for line in lines if len(line) > 8}
        pairs = [(users, ends[peer][1]) for peer, users in ends.values() if peer in ends]
        good &= any(f"pid={pid}," in a and f"pid={known['unix'][1]}," in b for a, b in pairs)
    else:
        skip_part("ss", "not installed")
    if shutil.which("lslocks"):
        locks = call(["lslocks", "-n", "-o", "PID,PATH,MODE"]).stdout
        holders = {line.split()[0] for line in locks.splitlines() if "lock0" in line}
        good &= str(known["flock"][1]) in holders
    else:
        skip_part("lslocks", "not installed")
    print("ss and lslocks agree:", good)
    return good


# A parent that waits for its child's end and does not read what that writes: the famous one.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
print(child.pid, flush=True)
child.wait()
"""


def check_circle(wallspy, code, deadlock):
    """Is it a deadlock where the child writes CODE's output, and none where it sleeps?"""
    with Target([sys.executable, "-c", PARENT, code]) as parent:
        child = int(parent.first)
        time.sleep(1)
        circles = dump_json(wallspy, [parent.pid, child])["circles"]
    end(child)
    print("parent and child:", circles)
    found = [(c["deadlock"], set(c["tids"])) for c in circles]
    return found == ([(True, {parent.pid, child})] if deadlock else [])


# Waits that only look like circles: a thread that is not looked at reads the pipe; a handler of its
# signals writes to it; the child goes on without its main thread.
NO_CIRCLES = {
    "reader": ("import os, threading, time\n"
               "r, w = os.pipe()\n"
               "pid = os.fork()\n"
               "if not pid: os.close(r); os.write(w, b'x' * 1000000); os._exit(0)\n"
               "os.close(w)\n"
               "threading.Thread(target=lambda: (time.sleep(600), os.read(r, 1))).start()\n"
               "print(pid, flush=True); os.waitpid(pid, 0)", "child", "{child} (python"),
    "handler": ("import os, signal, sys\n"
                "r, w = os.pipe()\n"
                "signal.signal(signal.SIGUSR1, lambda *_: os.write(w, b'x'))\n"
                "print(os.getpid(), flush=True); os.read(r, 1)", "pipe", "is in the same process"),
    "leaves": ("import ctypes, os, threading, time\n"
               "pid = os.fork()\n"
               "if not pid:\n"
               "  threading.Thread(target=time.sleep, args=(600,)).start()\n"
               "  ctypes.CDLL(None).pthread_exit(None)\n"
               "print(pid, flush=True); os.waitpid(pid, 0)", "child",
               "whose main thread has ended"),
}


def check_no_circle(wallspy, name):
    code, kind, words = NO_CIRCLES[name]
    with Target([sys.executable, "-c", code]) as parent:
        child = int(parent.first)
        time.sleep(1)
        pids = f"{parent.pid},{child}"
        text = dump_text(wallspy, pids, "--thread", "main")
        shown = dump_json(wallspy, pids, "--thread", "main")
        told = call([wallspy, "-p", pids, "--thread", "main", "-d", "2", "-o", "none"]).stderr
    end(child)
    side = next(t["waits_for"] for p in shown["processes"] if p["pid"] == parent.pid
                for t in p["threads"])
    print(name, side, text, told)
    return (side["kind"] == kind and words.format(child=child) in " ".join(text.split()) and
            shown["circles"] == [] and "eadlock" not in text + told)


# The other end of the pipe is handed on while the reader waits, whose parent then waits for it.
HAND_ON = """
import subprocess, sys, time
reader = subprocess.Popen([sys.executable, "-c", "import os; os.read(0, 1)"], stdin=subprocess.PIPE)
print("ready", flush=True)
time.sleep(2)
writer = subprocess.Popen(["sleep", "600"], stdout=reader.stdin)
reader.stdin.close()
print(reader.pid, writer.pid, flush=True)
reader.wait()
"""


def check_hand_on(wallspy):
    with Target([sys.executable, "-c", HAND_ON]) as parent:
        done = call([wallspy, "-s", "-p", parent.pid, "-d", "5", "-o", "none"])
        pids = parent.line().split()
    for pid in pids:
        end(int(pid))
    print("handed on:", done.stderr)
    return "eadlock" not in done.stderr and "only waits for its children" in done.stderr


NAS = pathlib.Path(__file__).resolve().parents[1] / "situations" / "programs" / "nas.py"
READS = "import os; f = os.open('<>/x', 0); print(os.getpid(), flush=True); os.read(f, 1)"


def check_hung(wallspy):
    """The server of the file that is read answers no more: who asks for its size hangs."""
    with Target([sys.executable, NAS, sys.executable, "-c", READS],
                env={**os.environ, "NAS_HANGS": "1"}) as target:
        if not target.first.isdigit():
            assert target.process.wait(10) == EXIT_SKIPPED, target.first
            skip_part("hung", target.first)
            return True
        time.sleep(0.5)
        try:
            text = call([wallspy, "dump", "-p", target.first], timeout=10).stdout
        except subprocess.TimeoutExpired:
            text = "no end"
    print("hung:", text)
    return " in read of /" in text


# A connection for each request, which is answered after 20 ms: none lasts until a second look.
SHORT = r'''
import os, socket, time
listener = socket.create_server(("127.0.0.1", 0))
main = os.getpid()
if os.fork() == 0:
    while os.getppid() == main:
        connection, _ = listener.accept()
        time.sleep(0.02)
        connection.close()
    os._exit(0)
print(listener.getsockname()[1], flush=True)
while True:
    with socket.create_connection(listener.getsockname()) as connection:
        connection.recv(1)
'''


def check_short(wallspy):
    """Is the other end of some such waits read in time?"""
    with Target([sys.executable, "-c", SHORT]) as target:
        port = int(target.first)
        stacks, _ = record_folded(wallspy, ["-q", "-d", "4"], ["-p", target.pid])
    known = collections.Counter()
    for stack, samples in stacks:
        if "recvfrom" in stack[-1]:
            known[stack[-1]] += samples
    print("short connections:", dict(known))
    return f"recvfrom 127.0.0.1:{port} [blocked]" in known and len(known) == 2


def main():
    wallspy = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder, \
            Target([sys.executable, "-c", PROGRAM, folder]) as target:
        told = json.loads(target.first)
        known, helpers = told["known"], told["helpers"]
        upstream = known.pop("upstream")
        try:
            results = [check_dump(wallspy, target.pid, known),
                       check_text(wallspy, target.pid, known),
                       check_recording(wallspy, target.pid, known, upstream),
                       check_tools(known, target.pid)]
        finally:
            target.kill()
            for pid in helpers:
                end(pid)
    results += [check_circle(wallspy, "print('x' * 1000000)", True),
                check_circle(wallspy, "import time; time.sleep(9)", False)]
    results += [check_no_circle(wallspy, name) for name in NO_CIRCLES]
    results += [check_hand_on(wallspy), check_hung(wallspy), check_short(wallspy)]
    print(f"{len(known)} waits:", results)
    return all(results)


def end(pid):
    """It is the program's child, or its child's."""
    try:
        os.kill(pid, 9)
        time.sleep(0.001)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    end_with(main)
