#!/usr/bin/env python3
"""What wallspy dump, py-spy dump, pystack and gdb say of the same programs that hang.

usage: hangs.py WALLSPY BUILD [NAME…]

BUILD: the folder that the programs were built in.  py-spy and pystack are those of PATH.  Prints
what each tool says, and of each the words of docs/compared.md's table that are in it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SCENES = HERE.parent / "python/deadlocks.py"
PROGRAMS = HERE.parent / "situations/programs"
SECONDS = "120"

# What who knows glibc asks gdb for, where libc6-dbg is installed: of each frame that has it.
ASK_GDB = [word for value in ("mutex->__data.__owner", "rwlock->__data.__cur_writer")
           for word in ("-ex", f"echo {value}:", "-ex",
                        f"thread apply all -s -q frame apply all -s -q p {value}")]
# Of each hang: its command, and what tells whom it is about, in any tool's words.
HANGS = {
    "two locks, Python": ([sys.executable, SCENES, "--scene", "locks"], {
        "holder": r"held by \d+", "deadlock": r"deadlock: "}),
    "two mutexes, C++": (["{built}/transfer", SECONDS], {
        "holder": r"held by \d+|__owner:(\$\d+ = 0 )*\$\d+ = [1-9]",
        "deadlock": r"deadlock: "}),
    "inherited by fork": (["{built}/report", SECONDS], {
        "owner": r"held by \d+|__owner:(\$\d+ = 0 )*\$\d+ = [1-9]",
        "that it is gone": r"not a thread of this process"}),
    "join chain": (["{built}/harvest", SECONDS], {
        "who is joined": r"waits for thread \d+|threadid=\d+",
        "whom load waits for": r"\d+ \(harvest\)"}),
    "rwlock's writer": (["{built}/settings", SECONDS], {
        "writer": r"rwlock.*held by \d+|cur_writer:(\$\d+ = 0 )*\$\d+ = [1-9]"}),
    "lost wake-up": (["{built}/mailbox", SECONDS], {
        "nobody is left to wake it": r"stuck:"}),
    "asyncio, full queue": ([sys.executable, PROGRAMS / "ingest.py", SECONDS], {
        "the tasks": r"(?i)\btasks?\b.*handle", "what they wait for": r"Queue\.put"}),
}
TOOLS = {
    "wallspy dump": lambda wallspy, pid: [wallspy, "dump", "-p", pid],
    "py-spy dump": lambda wallspy, pid: ["py-spy", "dump", "--native", "-p", pid],
    "pystack": lambda wallspy, pid: ["pystack", "remote", "--native", pid],
    "gdb": lambda wallspy, pid: ["gdb", "-batch", "-nx", "-p", pid, "-ex",
                                 "thread apply all bt", *ASK_GDB],
}


def start(command, build):
    """The process, and the pid to look at."""
    words = [str(word).format(built=build / "tests/situations") for word in command]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    first = process.stdout.readline().split()
    time.sleep(1.5)
    return process, first[1] if len(first) > 1 else str(process.pid)


def said_by(command):
    """What a tool says, and how long it took; the words are None if it is not there."""
    if not shutil.which(command[0]):
        return None, 0
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr[-2000:] * (done.returncode != 0), time.monotonic() - begun


def main(wallspy, build, names):
    table = []
    for name in names or HANGS:
        command, facts = HANGS[name]
        process, pid = start(command, pathlib.Path(build).resolve())
        for tool, line in TOOLS.items():
            words, took = said_by(line(wallspy, pid))
            print(f"==== {name}: {tool}, {took:.1f} s\n{words}", flush=True)
            one_line = " ".join((words or "").split())
            found = [fact for fact, pattern in facts.items() if re.search(pattern, one_line)]
            table.append((name, tool, "not there" if words is None else ", ".join(found) or "–"))
        os.killpg(process.pid, 9)
        process.wait()
    for row in table:
        print("{:22} {:14} {}".format(*row))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
