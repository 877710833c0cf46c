"""Compares what walk_reader reads of a target with what the target says of itself.

usage: PYTHON walk.py READER [VARIANT]     the target runs under the same interpreter

VARIANT says what holds the interpreter, so that its runtime must be found in another way:
  stripped    libpython without .symtab and debug information
  headerless  libpython, or the executable, without section headers
  embedded    a program with libpython.a inside, which exports nothing, stripped; 3.10 and later
  bare        the same without section headers; 3.13 and later
"""
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from support.outcome import Skipped, end_with
from support.targets import Target
from support.wallspy import call

HERE = os.path.dirname(os.path.abspath(__file__))
DONE, HOLDING = "0", "1"


def parse_truth(target):
    """{tid: [(name, line)]}, once all threads have spoken."""
    threads, expected, ended = {}, None, 0
    words = target.first.split()
    while ended != expected:
        if not words:
            raise SystemExit("the target died")
        if words[0] == "threads":
            expected = int(words[1])
        elif words[0] == "F":
            threads.setdefault(int(words[1]), []).append((words[2], int(words[3])))
        else:
            ended += 1
        words = target.line().split() if ended != expected else []
    return threads


def parse_reader(text):
    threads, states, problems, version = {}, {}, [], None
    for line in text.splitlines():
        words = line.split()
        if words[0] == "V":
            version = words[1]
        elif words[0] == "T":
            frames = threads.setdefault(int(words[1]), [])
            states[int(words[1])] = int(words[2])
            if words[3] != DONE:
                problems.append("%s: ended early" % line)
            if words[4] == HOLDING:
                problems.append("%s: holds the GIL while it is blocked" % line)
        elif words[0] in "FI":
            frames.append(words)
        elif words[0] == "X":
            problems.append(line)
    return threads, states, problems, version


def check_markers(frames):
    """Markers as pyframes/py_walk.h says, of one thread state."""
    markers = [int(f[5] if f[0] == "F" else f[3], 16) for f in frames]
    entries = [(f[4] if f[0] == "F" else f[2]) == "1" for f in frames]
    if frames and not entries[-1]:
        yield "the outermost frame is no entry"
    if sys.version_info < (3, 10):
        if any(markers) or not all(entries):
            yield "markers before 3.10"
        return
    for i, marker in enumerate(markers):
        if frames[i][0] == "F" and marker < int(frames[i][6], 16):
            yield "frame %d has its marker below the stack" % i
        if i and entries[i - 1] != (markers[i - 1] != marker):
            yield "frame %d: a block's marker is not its own" % i
        if i and markers[i - 1] > marker:
            yield "frame %d: markers do not rise" % i


def compare(truth, threads, states):
    for tid, frames in threads.items():
        if states[tid] == 1:
            for problem in check_markers(frames):
                yield "%d: %s" % (tid, problem)
        got = [(f[1], int(f[2])) for f in frames if f[0] == "F"]
        want = truth.get(tid, [])
        # A thread with two interpreters has two stacks; which lies above is for the merge.
        if got != want and (states[tid] == 1 or sorted(got) != sorted(want)):
            yield "%d: got %s\nwant %s" % (tid, got, want)
    for tid in set(truth) - set(threads):
        yield "%d: not seen" % tid


def interpreter_file():
    """libpython, or the executable if the interpreter is inside."""
    with open("/proc/self/maps") as f:
        match = re.search(r" (/\S*/libpython3\.\S*)$", f.read(), re.M)
    return match.group(1) if match else sys.executable


EMBEDDING = """
extern int Py_BytesMain(int, char **);
int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }
"""


def embed(folder):
    """Links a program with the static library; None if there is none, or no compiler."""
    name = "libpython%d.%d.a" % sys.version_info[:2]
    library = os.path.join(sysconfig.get_config_var("LIBPL") or "", name)
    source, program = os.path.join(folder, "embedding.c"), os.path.join(folder, "embedding")
    if not os.path.exists(library) or not shutil.which("cc"):
        return None
    with open(source, "w") as f:
        f.write(EMBEDDING)
    libraries = " ".join(sysconfig.get_config_var(name) or ""
                         for name in ("MODLIBS", "LIBS", "SYSLIBS"))
    command = ["cc", "-w", "-s", "-o", program, source,
               library] + libraries.split() + ["-lz", "-lm"]
    for mode in ("-pie", "-no-pie"):  # Debian's library is not position-independent
        if subprocess.call(command + [mode], stderr=subprocess.DEVNULL) == 0:
            return program
    return None


def without_section_headers(path):
    with open(path, "r+b") as f:
        f.seek(0x28)
        f.write(bytes(8))  # e_shoff
        f.seek(0x3c)
        f.write(bytes(4))  # e_shnum, e_shstrndx


def disguise(variant, folder):
    """Makes the variant in FOLDER; returns the command to run, or None if it is not available."""
    if variant in ("embedded", "bare"):
        program = embed(folder)
        if program and variant == "bare":
            without_section_headers(program)
        return program
    source = interpreter_file()
    static = source == sys.executable
    copy = os.path.join(folder, os.path.basename(source))
    shutil.copy(source, copy)
    if variant == "headerless":
        without_section_headers(copy)
    elif static or subprocess.call(["strip", copy]):
        return None
    return copy if static else sys.executable


def main():
    variant = sys.argv[2] if len(sys.argv) > 2 else None
    oldest = {"embedded": (3, 10), "bare": (3, 13)}.get(variant, (3, 6))
    with tempfile.TemporaryDirectory() as folder:
        command, env = sys.executable, None
        if variant:
            command = disguise(variant, folder) if sys.version_info >= oldest else None
            env = dict(os.environ, LD_LIBRARY_PATH=folder, PYTHONHOME=sys.prefix)
        if not command:
            raise Skipped("no %s CPython %d.%d" % ((variant,) + sys.version_info[:2]))
        with Target([command, os.path.join(HERE, "walk_target.py")], env=env) as target:
            return compare_run(target)


def compare_run(target):
    truth = parse_truth(target)
    read = call([sys.argv[1], target.pid])
    threads, states, problems, version = parse_reader(read.stdout)
    problems += compare(truth, threads, states)
    if read.code or version != sys.version.split()[0]:
        problems.append("exit %d, version %s\n%s" % (read.code, version, read.stdout))
    frames = sum(map(len, truth.values()))
    print(*problems, "%d threads, %d frames, %d problems" % (len(truth), frames, len(problems)),
          sep="\n")
    return not problems and len(truth) >= 9


if __name__ == "__main__":
    end_with(main)
