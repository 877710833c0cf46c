"""Programs to look at: started, and waited for until they are ready."""
import os
import select
import signal
import subprocess
import sys

from .programs import AS_USER, become, programs

START_S, ANSWER_S, END_S = 30, 10, 10


class Target:
    """A program that prints a line when it is ready: .first, which is READY if that is given.  The
    block's end ends it: kills it, or, if GENTLY, closes its stdin.  HOW: as of Popen()."""

    def __init__(self, command, ready=None, gently=False, **how):
        how = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **how}
        self.process = subprocess.Popen([os.fspath(word) if isinstance(word, os.PathLike)
                                         else word if isinstance(word, bytes) else str(word)
                                         for word in command], **how)
        self.pid, self.gently, self.unread = self.process.pid, gently, b""
        try:
            self.first = self.line(START_S)
            assert ready is None or self.first == ready, f"{command} says {self.first!r}"
        except BaseException:
            self.gently = False
            self.end()
            raise

    def more(self, seconds):
        """Is there more to read?"""
        stdout = self.process.stdout.fileno()
        if not select.select([stdout], [], [], seconds)[0]:
            raise AssertionError(f"target {self.process.pid} says nothing")
        read = os.read(stdout, 1 << 16)
        self.unread += read
        return bool(read)

    def line(self, seconds=ANSWER_S):
        """The next line that it prints, without its end."""
        while b"\n" not in self.unread and self.more(seconds):
            pass
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode(errors="surrogateescape").strip()

    def rest(self, seconds=60):
        """All that it prints until it ends; it has to end by 0."""
        while self.more(seconds):
            pass
        text = self.unread.decode(errors="surrogateescape")
        assert self.process.wait(END_S) == 0, f"exit {self.process.returncode}: {text}"
        return text

    def say(self, text):
        os.write(self.process.stdin.fileno(), text.encode())

    def end(self):
        if self.gently:
            self.process.stdin.close()
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        elif self.process.poll() is None:
            self.kill()
        for stream in self.process.stdin, self.process.stdout:
            if stream:
                stream.close()

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def python_target(script, *args, **how):
    """This interpreter, which runs SCRIPT and prints "ready"."""
    return Target([sys.executable, "-c", script, *args], "ready", **how)


class CliTarget(Target):
    """A process of tests/cli/target.c, by its kind, run by BECOME, or by whom the test is."""

    def __init__(self, kind, user=True, become_user=tuple(AS_USER)):
        super().__init__([*(become_user if user else ()), programs["target"], kind], gently=True)
        self.pid, self.tid = map(int, self.first.split())


def parse_counts(line):
    return {name: int(n) for name, n in (word.split("=") for word in line.split())}


class CountingTarget(Target):
    """A program that says "NAME=N …" at its start and for every byte sent to it.  The end of its
    stdin ends it; then it says its last counts."""

    def poke(self):
        self.say("x")

    def counts(self):
        self.poke()
        return parse_counts(self.line())

    def finish(self):
        """Ends it and returns its last counts."""
        self.process.stdin.close()
        counts = parse_counts(self.line())
        assert self.process.wait(END_S) == 0, self.process.returncode
        return counts


class HarmTarget(CountingTarget):
    """A program of tests/target_safety.  Where it cannot do its worst it says "skip: " and why, and
    the test is skipped."""

    def __init__(self, name, *args, as_user=None):
        super().__init__([*become(as_user), os.path.join(programs["targets"], name), *args])
        skip_if_said(self.first, self.end)


def skip_if_said(line, before=None):
    """Skips the test if LINE says so."""
    if line.startswith("skip: "):
        if before:
            before()
        from unittest import SkipTest  # pylint: disable=import-outside-toplevel
        raise SkipTest(line[len("skip: "):])
