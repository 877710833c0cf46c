"""What every test of harm needs: a target, `wallspy record` on it, and the file it wrote.

The targets are C programs beside this file.  Those that count say "NAME=N …" on a line at the
start and for every byte sent to them, and end when their stdin is closed.
"""
import collections
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

programs = {}  # "wallspy" and "targets", a folder
SEED = int(os.environ.get("WALLSPY_SEED") or random.randrange(1 << 32))  # of each test's chance

# Runs a job of its own, with somebody to let it go on: the kernel stops no others for Ctrl-Z.
JOB = (sys.executable, "-c", "import os, sys; os.setpgrp(); os.execvp(sys.argv[1], sys.argv[1:])")


def is_sanitized():
    """Is wallspy built with AddressSanitizer, which maps and reserves memory as it likes?"""
    return b"__asan_init" in pathlib.Path(programs["wallspy"]).read_bytes()


def wait_until(true, seconds=10, what="it never came about"):
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.005)


def status(pid, field, tid=None):
    path = pathlib.Path(f"/proc/{pid}/task/{tid}/status" if tid else f"/proc/{pid}/status")
    return re.search(rf"^{field}:\s*(.*)$", path.read_text(errors="surrogateescape"),
                     re.M).group(1)


def stolen_s():
    """For how long all CPUs together were kept from running by the machine that this one is a guest
    of."""
    line = pathlib.Path("/proc/stat").read_text().splitlines()[0]
    return int(line.split()[8]) / os.sysconf("SC_CLK_TCK")


def threads(pid):
    return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]


class Target:
    """A running target; killed and collected when the block is left."""

    def __init__(self, name, *args, as_user=None):
        line = ["setpriv", "--reuid", as_user, "--regid", "nogroup", "--clear-groups"] \
            if as_user else []
        self.start([*line, os.path.join(programs["targets"], name), *map(str, args)])

    @classmethod
    def running(cls, line):
        """Any program that answers as they do."""
        ret = cls.__new__(cls)
        ret.start(line)
        return ret

    def start(self, line):
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.pid = self.process.pid
        self.first = self.line()

    def line(self, seconds=10):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise AssertionError(f"target {self.pid} says nothing")
        return self.process.stdout.readline().strip()

    def poke(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()

    @staticmethod
    def parse(line):
        return {k: int(v) for k, v in (word.split("=") for word in line.split())}

    def counts(self):
        self.poke()
        return self.parse(self.line())

    def finish(self):
        """Ends it and returns its last counts."""
        self.process.stdin.close()
        ret = self.parse(self.line())
        assert self.process.wait(10) == 0, self.process.returncode
        return ret

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Wallspy:
    """`wallspy record` on a process, in a folder of its own.  ends() or the block's end awaits
    it."""

    def __init__(self, pid, *args, rate=1000, environment=None, prefix=(), as_user=None,
                 ready=True):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o777)
        self.output = os.path.join(self.folder.name, "out.json")
        line = ["setpriv", "--reuid", as_user, "--regid", "nogroup", "--clear-groups"] \
            if as_user else []
        # Held as long as it takes: what is tried here is the full rate.
        line += [*prefix, programs["wallspy"], "record", "-p", str(pid), "-r", str(rate),
                 "--max-overhead", "100", "-o", self.output, *map(str, args)]
        self.log = os.path.join(self.folder.name, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log,
                                            env={**os.environ, **(environment or {})})
        if ready:
            wait_until(self.sampling, what=f"wallspy does not sample {pid}")

    def sampling(self):
        text = self.text()
        if self.process.poll() is not None:
            raise AssertionError(f"wallspy ended with {self.process.returncode}: {text}")
        return "wallspy: sampling" in text

    def text(self):
        return pathlib.Path(self.log).read_text(errors="surrogateescape")

    def stop(self, number=signal.SIGINT):
        """Ends it by a signal; returns the profile it wrote."""
        self.process.send_signal(number)
        return self.ends()

    def ends(self, seconds=20):
        code = self.process.wait(seconds)
        if code != 0:
            raise AssertionError(f"wallspy ended with {code}: {self.text()}")
        return Profile(self.output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


class Profile:
    """A speedscope file: what wallspy counted, and how long each frame was seen."""

    def __init__(self, path):
        self.file = json.loads(pathlib.Path(path).read_text())
        self.counts = self.file["wallspy"]
        self.frames = [f["name"] for f in self.file["shared"]["frames"]]

    def walls(self):
        """The profiles of single threads by the wall clock: name → [(stack's names, seconds)]."""
        scale = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1}
        ret = {}
        for profile in self.file["profiles"]:
            name = profile["name"]
            if not name.endswith("| wall") or name.startswith("ALL "):
                continue
            ret[name] = [
                ([self.frames[i] for i in stack], weight * scale[profile["unit"]])
                for stack, weight in zip(profile["samples"], profile["weights"])]
        return ret

    def seconds(self, *names):
        """For how long any of NAMES was in a stack, over all threads' profiles."""
        return sum(weight for rows in self.walls().values() for stack, weight in rows
                   if any(n in frame for frame in stack for n in names))

    def total(self):
        return sum(weight for rows in self.walls().values() for _, weight in rows)

    def __str__(self):
        """What was seen most, and all that was counted."""
        sums = collections.Counter()
        for name, rows in self.walls().items():
            for stack, weight in rows:
                sums[f"{name}: {';'.join(stack)}"] += weight
        numbers = (f"{name} {n}" for name,
                   n in self.counts.items() if isinstance(n, (int, float)) and n)
        return "\n".join([*(f"{seconds:.4f} s {what}" for what, seconds in sums.most_common(20)),
                          ", ".join(numbers)])


class HarmTest(unittest.TestCase):
    def setUp(self):
        random.seed(SEED)  # as if it were the only test
        self.stolen_before_s = stolen_s()

    def assert_seen(self, profile, name, seconds):
        """NAME was in stacks for more than SECONDS.  If not, says what there was instead."""
        seen = profile.seconds(name)
        self.assertGreater(seen, seconds,
                           f"{name}; CPUs were stolen for {stolen_s() - self.stolen_before_s:.2f} "
                           f"s\n{profile}")

    def assert_unharmed(self, target):
        """It lives, is not stopped and not traced, in all its threads.  Ask when wallspy is gone:
        a thread that is being held may be seen so."""
        self.assertIsNone(target.process.poll(), "the target ended")
        for tid in threads(target.pid):
            try:
                state = status(target.pid, "State", tid)[0]
                tracer = status(target.pid, "TracerPid", tid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            self.assertNotIn(state, "Tt", tid)
            self.assertEqual(tracer, "0", tid)


def main():
    """usage: [WALLSPY_SEED=N] TEST PROGRAM TARGETS [unittest's arguments]"""
    print(f"WALLSPY_SEED={SEED}", flush=True)
    programs["wallspy"], programs["targets"] = sys.argv[1:3]
    if os.geteuid() == 0:  # so that other users may run them
        folder = tempfile.mkdtemp()
        os.chmod(folder, 0o755)
        programs["wallspy"] = shutil.copy(programs["wallspy"], folder)
        for name in os.listdir(programs["targets"]):
            path = os.path.join(programs["targets"], name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                shutil.copy(path, folder)
        programs["targets"] = folder
    result = unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]], verbosity=2,
                           exit=False).result
    if os.geteuid() == 0:
        shutil.rmtree(programs["targets"])
    sys.exit(0 if result.wasSuccessful() else 1)
