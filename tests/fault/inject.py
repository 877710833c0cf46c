"""System calls of wallspy that fail: each kind, at its Nth time or from then on, with several errors.

strace makes them fail, in wallspy's threads alone: the target is no child of it, so -f follows nobody else,
and strace's log, which names the thread of every call that failed, is the proof.

usage: inject.py PROGRAM TARGETS [unittest's arguments]
"""
import collections
import functools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import trial
from trial import harness

ERRORS = {
    "ptrace": ("EPERM", "ESRCH", "EIO", "ENOMEM"),
    "process_vm_readv": ("EFAULT", "EPERM", "ESRCH", "ENOMEM"),
    "wait4": ("ECHILD", "EINTR", "EINVAL"),
    "openat": ("EACCES", "ENOENT", "EMFILE", "ENFILE", "ENOMEM", "EINTR"),
    "read": ("EIO", "ESRCH", "EINTR", "EINVAL", "EISDIR"),
    "pread64": ("EIO", "ESRCH", "EINTR", "EINVAL"),
    "mmap": ("ENOMEM", "EAGAIN", "ENODEV"),
    "write": ("ENOSPC", "EIO", "EPIPE", "EDQUOT", "EINTR"),
    "rename": ("EACCES", "EXDEV", "ENOSPC", "EROFS"),
    "fsync": ("EIO", "ENOSPC"),
    # All that standby does.
    "prctl": ("EPERM", "EINVAL"),
    "execve": ("EACCES", "ENOENT", "ENOMEM"),
}
STANDBY_CALLS = ("prctl", "execve")
RECORD_CALLS = [call for call in ERRORS if call not in STANDBY_CALLS]
DUMP_CALLS = [call for call in RECORD_CALLS if call not in ("rename", "fsync")]
COMMANDS = {"record": RECORD_CALLS, "dump": DUMP_CALLS, "standby": STANDBY_CALLS}
ONCE = ("rename", "fsync", *STANDBY_CALLS)  # called once only
HOLDS = ("ptrace", "wait4")  # what lets a thread go
RECORD_S = 0.25
LONG_S = 1.5
# The longest that a target may be stopped while they fail for good; for LONG_S, if nobody saw to it.
PAUSE_S = 1
# A failed start of the dynamic linker is 127.
CODES = {"record": {0, 1, 3, 4, 5, 6, 127}, "dump": {0, 1, 3, 4, 5, 6, 127},
         "standby": {0, 1, 126, 127}}
INJECTED = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+).*\(INJECTED\)$", re.M)


class Point:
    """One kind of failure in one run of wallspy: of the Nth CALL of each thread once main() runs."""

    def __init__(self, command, call, error, n, lasts):
        self.command, self.call, self.error, self.lasts = command, call, error, lasts
        self.when = f"{loading_calls().get(call, 0) + n}{'+' if lasts else ''}"

    def __str__(self):
        return f"{self.command}: {self.call}={self.error} when={self.when}"

    def arguments(self, pid, output):
        wallspy = [harness.programs["wallspy"]]
        if self.command == "record":
            seconds = LONG_S if self.lasts and self.call in HOLDS else RECORD_S
            return [*wallspy, "record", "-p", str(pid), "-r", "500", "-d", str(seconds),
                    "--max-overhead", "100", "-o", output]
        if self.command == "dump":
            return [*wallspy, "dump", "--json", "-p", str(pid)]
        return [*wallspy, "standby", "--", shutil.which("true")]


@functools.lru_cache
def loading_calls():
    """How often the dynamic linker makes each call before main(): what it does if they fail is not
    wallspy's to decide (an mmap that fails in its first steps ends it by SIGSEGV)."""
    done = subprocess.run(["strace", "-qq", "-o", "/dev/stdout", "-e", "trace=" + ",".join(ERRORS),
                           harness.programs["wallspy"], "--version"], capture_output=True,
                          text=True, check=True)
    calls = re.findall(r"^(\w+)\(", done.stdout.split('write(1, "wallspy')[0], re.M)
    return collections.Counter(calls)


class Injector(trial.Trials):
    """Runs points on one target; counts what happened."""

    def __init__(self, target):
        super().__init__(target)
        self.figures = {"runs": 0, "faults": 0, "ended": 0, "went on": 0, "not reached": 0}

    def strace(self, point, log):
        return ["strace", "-f", "-qq", "--seccomp-bpf", "-o", log,
                "-e", f"trace={point.call}",
                "-e", f"inject={point.call}:error={point.error}:when={point.when}"]

    def faults_in(self, log):
        """The calls that failed, none of them another's."""
        text = pathlib.Path(log).read_text()
        found = INJECTED.findall(text)
        others = set(map(int, (tid for tid, _ in found))) & set(harness.threads(self.target.pid))
        self.check.assertFalse(others, "strace hit the target")
        return len(found)

    def judge(self, point, code, folder, printed, faults):
        # No sample (6): a busy machine.
        self.check.assertIn(code, CODES[point.command] if faults else {0, 6}, "exit code")
        if point.command == "record":
            trial.output_of(os.path.join(folder, "out.json"), must_exist=code == 0)
        elif point.command == "dump" and code == 0:
            self.check.assertEqual(json.loads(printed)["schema"], "dump/1")
        # Whose unlink or rename failed may be left; here only those are made to fail that write.
        left = trial.leftovers(folder, "out.json", "log", "stderr", "stdout")
        self.check.assertEqual(left, [], "left behind")

    def run_in(self, folder, point):
        output, log, errors, prints = (os.path.join(folder, name)
                                       for name in ("out.json", "log", "stderr", "stdout"))
        pathlib.Path(output).write_text(trial.OLDER)
        # Leak checkers use ptrace themselves.
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        with open(errors, "wb") as err, open(prints, "wb") as out:
            line = [*self.strace(point, log), *point.arguments(self.target.pid, output)]
            with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                  env=environment) as process:
                try:
                    code = trial.await_end(process)
                except AssertionError as error:
                    raise trial.Failure(f"{point}: {error}") from error
                finally:
                    process.kill()
        faults = self.faults_in(log)
        text = pathlib.Path(errors).read_text(errors="replace")
        try:
            self.judge(point, code, folder, pathlib.Path(prints).read_text(), faults)
            self.assert_goes_on()
            self.check.assertLess(self.longest_pause_s(), PAUSE_S, "paused")
        except AssertionError as error:
            raise trial.Failure(f"{point}: {faults} faults, exit {code}: {error}\n{text}") from error
        self.figures["runs"] += 1
        self.figures["faults"] += faults
        self.figures["not reached" if not faults else "went on" if code == 0 else "ended"] += 1
        return faults

    def run(self, point):
        with tempfile.TemporaryDirectory() as folder:
            return self.run_in(folder, point)


def quick_points(commands, turn=0):
    """Every call of COMMANDS, the first, one in the middle, and for good; the errors by TURN."""
    for command in commands:
        for i, call in enumerate(COMMANDS[command]):
            errors = ERRORS[call]
            whens = ((1, False), (7, False), (15, True))
            for j, (n, lasts) in enumerate(whens[:1] if call in ONCE else whens):
                error = errors[(turn + i + j) % len(errors)]
                yield Point(command, call, error, n, lasts and error != "EINTR")


def random_points(source):
    """Without end, early calls oftener than late ones.  A call that is interrupted for ever is not tried:
    every program that does as read(2) says repeats it."""
    while True:
        command = source.choices(list(COMMANDS), (6, 3, 1))[0]
        call = source.choice(COMMANDS[command])
        n = 1 if call in ONCE else int(2 ** source.uniform(0, 9))
        error = source.choice(ERRORS[call])
        yield Point(command, call, error, n, source.random() < 0.3 and error != "EINTR")


def start_target(kind):
    if kind == "python":
        return harness.Target.running([sys.executable, "-c", trial.PYTHON])
    return harness.Target(*kind.split())


@unittest.skipUnless(shutil.which("strace"), "no strace")
class Inject(unittest.TestCase):
    def sweep(self, kind, points):
        with start_target(kind) as target:
            injector = Injector(target)
            for point in points:
                with self.subTest(point=str(point)):
                    injector.run(point)
            self.assertEqual(target.finish()["wrong"], 0)
        print(kind, injector.figures)
        self.assertGreater(injector.figures["faults"], injector.figures["runs"])

    def test_every_call(self):
        self.sweep("work sums 2", quick_points(COMMANDS))

    def test_python(self):
        self.sweep("python", (p for p in quick_points(("dump",), 1) if not p.lasts))


if __name__ == "__main__":
    harness.main()
