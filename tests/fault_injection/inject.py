"""System calls of wallspy that fail: each kind, at its Nth time or from then on, with several
errors.

strace makes them fail, in wallspy's threads alone: a target that wallspy attaches to is no child of
it, one that it launches is let go at its execve, so -f follows nobody else.  strace's log, which
names the thread of every call that failed, is the proof.

usage: inject.py WALLSPY TARGETS [unittest's arguments]
"""
import collections
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import noticed
import trial
from support.cases import HarmTest
from support.chance import rounds, seeded
from support.outcome import main
from support.processes import threads, wait_until
from support.programs import is_sanitized, programs
from support.targets import CountingTarget, HarmTarget, parse_counts
from support.unharmed import assert_unharmed
from support.wallspy import Wallspy

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
# The texts with --full; the first one alone looks for half a second before.
DUMPS = ("dump", "dump --now --json", "dump --now --freeze")
COMMANDS = {"record": RECORD_CALLS, "launch": RECORD_CALLS, **dict.fromkeys(DUMPS, DUMP_CALLS),
            "standby": STANDBY_CALLS}
ONCE = ("rename", "fsync", *STANDBY_CALLS)  # called once only
HOLDS = ("ptrace", "wait4")  # what lets a thread go
RECORD_S = 0.25
LONG_S = 1.5
# The longest that a target may be stopped while they fail for good (for LONG_S, if nobody saw to
# it); on a busy machine wallspy has to wait for a CPU before it can see to it.
PAUSE_S = max(1, os.getloadavg()[0] / os.cpu_count() / 3)
# A failed start of the dynamic linker is 127.
CODES = {**dict.fromkeys(("record", *DUMPS), {0, 1, 3, 4, 5, 6, 127}), "standby": {0, 1, 126, 127}}
COMMAND_CODE = 7  # of `work once`
COMMAND_MS = 250
INJECTED = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+).*\(INJECTED\)$", re.M)


class Point:
    """One kind of failure in one run of wallspy: of the Nth CALL of each thread once main()
    runs."""

    def __init__(self, command, call, error, n, lasts):
        self.command, self.call, self.error, self.lasts = command, call, error, lasts
        self.when = f"{loading_calls().get(call, 0) + n}{'+' if lasts else ''}"

    def __str__(self):
        return f"{self.command}: {self.call}={self.error} when={self.when}"

    def arguments(self, pid, output):
        wallspy = [programs["wallspy"]]
        record = ["-r", "500", "--max-overhead", "100", "-o", output]
        if self.command == "record":
            seconds = LONG_S if self.lasts and self.call in HOLDS else RECORD_S
            return [*wallspy, "record", "-p", str(pid), "-d", str(seconds), *record]
        if self.command == "launch":
            work = os.path.join(programs["targets"], "work")
            # A thread that nothing lets go is held for up to 0.25 s: it has to get something done
            # all the same.
            ms = 4 * COMMAND_MS if self.lasts and self.call in HOLDS else COMMAND_MS
            return [*wallspy, *record, "--", work, "once", str(ms)]
        if self.command in DUMPS:
            full = [] if "--json" in self.command else ["--full"]
            return [*wallspy, *self.command.split(), *full, "-p", str(pid)]
        return [*wallspy, "standby", "--", shutil.which("true")]


@functools.lru_cache
def loading_calls():
    """How often the dynamic linker makes each call before main(): what it does if they fail is not
    wallspy's to decide (an mmap that fails in its first steps ends it by SIGSEGV)."""
    done = subprocess.run(["strace", "-qq", "-o", "/dev/stdout", "-e", "trace=" + ",".join(ERRORS),
                           programs["wallspy"], "--version"], capture_output=True,
                          text=True, check=True)
    calls = re.findall(r"^(\w+)\(", done.stdout.split('write(1, "wallspy')[0], re.M)
    return collections.Counter(calls)


class Injector(trial.Trials):
    """Runs points on one target; counts what happened."""

    def __init__(self, target):
        super().__init__(target)
        self.figures = {"runs": 0, "faults": 0, "ended": 0, "went on": 0, "not reached": 0,
                        "silent": 0}
        self.paused_s = 0
        self.silent = []  # what failed and was not heard of

    def strace(self, point, log):
        # The filter that makes strace quick would stay with a command that it lets go.
        how = ["-b", "execve"] if point.command == "launch" else ["--seccomp-bpf"]
        return ["strace", "-f", "-y", "-qq", *how, "-o", log,
                "-e", f"trace={point.call}",
                "-e", f"inject={point.call}:error={point.error}:when={point.when}"]

    def faults_in(self, log):
        """The calls that failed, none of them another's."""
        text = pathlib.Path(log).read_text()
        found = INJECTED.findall(text)
        others = set(map(int, (tid for tid, _ in found))) & set(threads(self.target.pid))
        self.check.assertFalse(others, "strace hit the target")
        return len(found)

    def is_called_gone(self, folder):
        """Did the kernel say that the main thread has ended?  A dump leaves it out then."""
        return re.search(rf"</proc/{self.target.pid}/task/{self.target.pid}/\w+>.* = -1 ESRCH ",
                         pathlib.Path(folder, "log").read_text())

    def judge_command(self, point, code, printed):
        """A command that was started ends by itself, with the right answer, and its status is
        passed on."""
        if not printed.read_text():
            self.check.assertIn(code, {1, 126, 127}, "exit code, nothing was started")
            return
        # Who cannot wait for it ends before it does.
        wait_until(lambda: printed.read_text().count("\n") == 2,
                   what="the command does not end")
        answer = parse_counts(printed.read_text().splitlines()[-1])
        self.check.assertGreater(answer["rounds"], 0)
        self.check.assertEqual(answer["wrong"], 0)
        # Out of memory ends wallspy at once; who cannot wait for it does not know how it ended.
        unknown = {1} if point.call in ("wait4", "mmap") else set()
        self.check.assertIn(code, {COMMAND_CODE, *unknown}, "exit code")

    def judge(self, point, code, folder, printed, said, faults):
        if point.command == "launch":
            self.judge_command(point, code, printed)
            # On a busy machine strace may not have let go of the command yet, or the command end
            # too soon.
            sampled = not re.search(r"is\s+tracing\s+it|no\s+sample\s+was\s+taken|"
                                    r"ended\s+before\s+the\s+first\s+sample",
                                    said)
            trial.output_of(os.path.join(folder, "out.json"), must_exist=not faults and sampled)
        else:  # no sample (6): a busy machine
            self.check.assertIn(code, CODES[point.command] if faults else {0, 6}, "exit code")
        if point.command == "record":
            trial.output_of(os.path.join(folder, "out.json"), must_exist=code == 0)
        elif "dump" in point.command and "--json" in point.command and code == 0:
            self.check.assertEqual(json.loads(printed.read_text())["schema"], "dump/1")
        elif point.command in DUMPS and code == 0 and not self.is_called_gone(folder):
            # Alone, or in the list of those of which no stack was read.
            self.check.assertRegex(printed.read_text(), rf"(?m)^ *{self.target.pid} main[ ,]")
        # Whose unlink or rename failed may be left; here only those are made to fail that write.
        if point.command != "launch":
            self.check.assertNotIn("the target ended", " ".join(said.split()), "it has not")
        kept = re.search(r"The\s+recording\s+is\s+in\s+(\S+)\.\s", said)
        if kept:  # whole, beside the older one or in another folder
            trial.output_of(kept.group(1), must_exist=True)
            os.unlink(kept.group(1))
        left = trial.leftovers(folder, "out.json", "log", "stderr", "stdout")
        self.check.assertEqual(left, [], "left behind")

    def run_in(self, folder, point):
        output, log, errors, prints = (os.path.join(folder, name)
                                       for name in ("out.json", "log", "stderr", "stdout"))
        pathlib.Path(output).write_text(trial.OLDER)
        with open(errors, "wb") as err, open(prints, "wb") as out:
            line = [*self.strace(point, log), *point.arguments(self.target.pid, output)]
            with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=err) as process:
                try:
                    code = trial.await_end(process)
                except AssertionError as error:
                    raise trial.Failure(f"{point}: {error}") from error
                finally:
                    process.kill()
        faults = self.faults_in(log)
        text = pathlib.Path(errors).read_text(errors="replace")
        try:
            self.judge(point, code, folder, pathlib.Path(prints), text, faults)
            self.assert_goes_on()
            self.assert_not_paused()
        except AssertionError as error:
            raise trial.Failure(
                f"{point}: {faults} faults, exit {code}: {error}\n{text}") from error
        self.figures["runs"] += 1
        self.figures["faults"] += faults
        well = COMMAND_CODE if point.command == "launch" else 0
        self.figures["not reached" if not faults else "went on" if code == well else "ended"] += 1
        if faults and code == well:
            self.note_silence(point, output, text, prints, log)
        return faults

    def note_silence(self, point, output, said, prints, log):
        """A call that failed must be heard of, unless nothing was lost by it."""
        printed, calls = (pathlib.Path(path).read_text() for path in (prints, log))
        call = noticed.silent(point, trial.output_of(output), said, printed, calls)
        if call:
            self.silent.append(f"{point}: {call}")
            self.figures["silent"] += 1

    def assert_not_paused(self):
        """The target knows its longest pause: what is no longer than before is of an earlier
        trial."""
        before, self.paused_s = self.paused_s, self.longest_pause_s()
        if self.paused_s > before:
            self.check.assertLess(self.paused_s, PAUSE_S, "paused")

    def run(self, point):
        with tempfile.TemporaryDirectory() as folder:
            return self.run_in(folder, point)


def quick_points(commands, turn=0):
    """Every call of COMMANDS, the first, one in the middle, and for good (of launched commands one
    of these); the errors and the kinds of dump by TURN."""
    for command in commands:
        for i, call in enumerate(COMMANDS[command]):
            if call == "mmap" and is_sanitized():  # its allocator gives up
                continue
            errors = ERRORS[call]
            whens = [(1, False), (7, False), (15, True)]
            if command == "launch":
                whens = [whens[i % 3]]
            for j, (n, lasts) in enumerate(whens[:1] if call in ONCE else whens):
                error = errors[(turn + i + j) % len(errors)]
                how = DUMPS[(turn + i + j) % 3] if command == "dump" else command
                yield Point(how, call, error, 1 if call in ONCE else n, lasts and error != "EINTR")


def random_points(source):
    """Without end, early calls oftener than late ones.  A call that is interrupted for ever is not
    tried: every program that does as read(2) says repeats it."""
    while True:
        command = source.choices(list(COMMANDS), (6, 4, 1, 1, 2, 1))[0]
        call = source.choice(COMMANDS[command])
        n = 1 if call in ONCE else int(2 ** source.uniform(0, 9))
        error = source.choice(ERRORS[call])
        yield Point(command, call, error, n, source.random() < 0.3 and error != "EINTR")


def some_of(points):
    """As many as are asked for, by chance."""
    points = list(points)
    return seeded().sample(points, rounds(len(points)))


def start_target(kind):
    if kind == "python":
        return CountingTarget([sys.executable, "-c", trial.PYTHON])
    return HarmTarget(*kind.split())


@unittest.skipUnless(shutil.which("strace"), "no strace")
class Inject(HarmTest):
    def sweep(self, kind, points):
        with start_target(kind) as target:
            injector = Injector(target)
            for point in some_of(points):
                with self.subTest(point=str(point)):
                    injector.run(point)
            self.assertEqual(target.finish()["wrong"], 0)
        print(kind, injector.figures)
        # A call may not come in a run; that none fails must not pass for a success.
        self.assertLess(injector.figures["not reached"], injector.figures["runs"] / 2)
        self.assertEqual(injector.silent, [])

    def test_every_call(self):
        self.sweep("work sums 2", quick_points(("record", "launch", "dump", "standby")))

    def test_no_more_files(self):
        """The command's end shows, whichever file is the last that can be opened."""
        self.sweep("work sums 2",
                   (Point("launch", "openat", "EMFILE", n, True) for n in range(1, 41)))

    def test_nothing_can_be_read(self):
        """Nor does it hide where nothing of /proc can be read."""
        self.sweep("work sums 2", [Point("launch", "pread64", "EIO", 3, True)])

    def test_threads_left_out_of_a_listing(self):
        """As the kernel does it if another ends while it lists them.  They have not ended."""
        empty = ("strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null",
                 "-e", "trace=getdents64", "-e", "inject=getdents64:retval=0:when=7+3")
        with HarmTarget("work", "sums", 3) as target:
            with Wallspy(target.pid, "-d", "1.5", rate=100, prefix=empty) as wallspy:
                profile = wallspy.ends(trial.ENDS_WITHIN_S)
            tids = [thread["tid"] for thread in profile.facts["threads"]]
            with self.measurable():
                self.assertGreater(profile.facts["ticks"], 100)  # nor has the process
            self.assertEqual(sorted(tids), sorted(threads(target.pid)))
            assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)

    def missed_of_late_requests(self):
        """For how long of 4 s a thread is missed whose stops' requests come late."""
        # Of the four calls of each second stop the first.
        late = ("strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=ptrace",
                "-e", "inject=ptrace:delay_enter=295000:when=1+8")
        with HarmTarget("faults", "ahead", 300) as target:
            with Wallspy(target.pid, "-d", "4", rate=100, ready=False,
                         prefix=late) as wallspy:
                profile = wallspy.ends(trial.ENDS_WITHIN_S)
            assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        (rows,) = (rows for name, rows in profile.walls().items() if "waiter" in name)
        return sum(seconds for stack, seconds in rows if not stack)

    def test_requests_that_come_late(self):
        """The thread has its page by then, and waits for the next: that it does is told, not
        missed."""
        # 0 to 0.3, seldom 1.4 where others take the CPUs; each time 2.0 to 2.2 where it is missed.
        # One that is beyond the bound is recorded once more, and judged by both.
        missed = [self.missed_of_late_requests()]
        if missed[0] >= 1.2:
            missed.append(self.missed_of_late_requests())
        self.assertLess(sum(missed), 1.2 * len(missed), missed)

    def test_python(self):
        self.sweep("python", (p for p in quick_points(("dump",), 1) if not p.lasts))


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
