"""Interpreters that cannot be read: native stacks only, one warning that says so, and it is over
when the process becomes another program.

usage: unsupported.py WALLSPY STAND_IN FUTURE
"""
import os
import shutil
import subprocess
import sys
import tempfile

from support.recording import read_folded
from support.targets import Target
from support.wallspy import await_text, record_folded

WALLSPY, STAND_IN, FUTURE = sys.argv[1:4]
TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtime_locations_target.py")
# What is mapped, and what is said of it.
NAMES = {
    "libpython2.7.so.1.0": "CPython 2 is not supported",
    "libpython3.5m.so.1.0": "CPython 3.5 is not supported",
    "libpypy3.10-c.so": "PyPy is not supported",
    "libpythonvm.so": "GraalPy is not supported",
    "graalpy": "GraalPy is not supported",
    "lib/graalpy25.0/libposix.so": "GraalPy is not supported",
    "libpython3.99.so.1.0": "CPython 3.99 is unknown to this version",
}
# The same of real ones, where there are any.
PROGRAMS = {"python2.7": "CPython 2 is not supported", "pypy3": "PyPy is not supported"}


def record(pid, folder, *args):
    out = os.path.join(folder, "out.folded")
    return out, subprocess.Popen([WALLSPY, "-o", out, "-p", str(pid), *args], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def result(out, recorder):
    said = " ".join(recorder.communicate(timeout=60)[0].split())
    assert recorder.returncode == 0, said
    return text_of(read_folded(out)), said


def text_of(stacks):
    return "".join(f"{';'.join(stack)} {us}\n" for stack, us in stacks)


def recorded(target):
    stacks, said = record_folded(WALLSPY, ["-d", "0.3"], ["-p", target.pid])
    return text_of(stacks), " ".join(said.split())


def expect(stacks, said, warning, function):
    assert said.count("warning:") == 1, said
    assert f"warning: {warning}: native stacks only." in said, said
    assert function in stacks and "<module>" not in stacks, stacks


def stand_in(name, warning, folder):
    library = os.path.join(folder, name)
    os.makedirs(os.path.dirname(library), exist_ok=True)
    shutil.copy(FUTURE, library)
    with Target([STAND_IN, library], "ready") as target:
        expect(*recorded(target), warning, ";main;")


def real(program, warning):
    script = "import os, sys; sys.stdout.write('ready\\n'); sys.stdout.flush(); os.read(0, 1)"
    with Target([program, "-c", script], "ready") as target:
        expect(*recorded(target), warning, "read")


def then_exec(folder):
    """From PyPy's library to an interpreter that can be read."""
    library = shutil.copy(FUTURE, os.path.join(folder, "libpypy3.10-c.so"))
    with Target([STAND_IN, library, sys.executable, "-S", TARGET, "1"], "ready") as target:
        out, recorder = record(target.pid, folder)
        await_text(recorder.stdout, "sampling")
        target.say("go\n")
        stacks, _ = result(out, recorder)
    assert ";main;" in stacks and ";<module>;outer;inner;" in stacks, stacks


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, warning in NAMES.items():
            stand_in(name, warning, folder)
        for name, warning in PROGRAMS.items():
            found = shutil.which(name)
            if found and subprocess.call([found, "-c", ""], stderr=subprocess.DEVNULL) == 0:
                real(found, warning)
                print(found)
        then_exec(folder)


if __name__ == "__main__":
    main()
