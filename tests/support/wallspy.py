"""Running wallspy: a dump, a recording to its end, or one that goes on meanwhile."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from .processes import wait_until
from .programs import AS_USER, become, programs
from .recording import Recording, read_folded
from .targets import Target
from .unharmed import assert_let_go, assert_not_held

Ran = collections.namedtuple("Ran", "code stdout stderr")
Recorded = collections.namedtuple("Recorded", "recording stdout stderr")
# The rate stays as it is: on a busy machine wallspy is itself taken off the CPU while it holds a
# thread.
FULL_RATE = ["--max-overhead", "100"]
# Runs a job of its own, with somebody to let it go on: the kernel stops no others for Ctrl-Z.
JOB = (sys.executable, "-c", "import os, sys; os.setpgrp(); os.execvp(sys.argv[1], sys.argv[1:])")


def call(command, timeout=60, environment=None, cwd=None):
    """Runs COMMAND to its end.  ENVIRONMENT: variables besides those that there are."""
    done = subprocess.run([os.fspath(word) if isinstance(word, os.PathLike) else str(word)
                           for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, **(environment or {})),
                          timeout=timeout, cwd=cwd, check=False)
    return Ran(done.returncode, *(text.decode(errors="surrogateescape")
                                  for text in (done.stdout, done.stderr)))


def succeed(command, **how):
    """The same; asserts that it went well."""
    ran = call(command, **how)
    assert ran.code == 0, f"exit {ran.code}: {ran.stderr}"
    return ran


def run(*args, user=True, deny=None):
    """Runs programs["wallspy"] on ARGS as a user does; returns its exit code, stdout, stderr as one
    line, and stderr.  Of its messages none is wider than a terminal.  DENY: as tests/support/deny.c
    has it."""
    line = list(AS_USER) if user else []
    if deny:
        line += [programs["deny"], deny]
    ran = subprocess.run([*line, programs["wallspy"], *map(str, args)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True, timeout=30, check=False)
    for message in ran.stderr.splitlines():
        assert len(message) <= 79, message
    return ran.returncode, ran.stdout, " ".join(ran.stderr.split()), ran.stderr


def succeed_on(pids, command, **how):
    """Runs COMMAND on the processes PIDS ("1,2"), and asserts that they are let go."""
    ran = succeed(command, **how)
    for pid in str(pids).split(","):
        assert_not_held(pid)
    return ran


def dump_text(wallspy, pids, *options, **how):
    return succeed_on(pids, [wallspy, "dump", "-p", pids, *options], **how).stdout


def dump_json(wallspy, pids, *options, **how):
    """The document that a dump of a process, or of several, prints."""
    pids = ",".join(map(str, pids)) if isinstance(pids, (list, tuple)) else pids
    return json.loads(dump_text(wallspy, pids, "--json", *options, **how))


def dump_threads(wallspy, pid, *options, **how):
    """The threads of one process."""
    (process,) = dump_json(wallspy, pid, *options, **how)["processes"]
    return process["threads"]


def record_to_end(wallspy, options, tail, timeout):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.json")
        ran = succeed([wallspy, *options, "-o", output, *tail], timeout=timeout)
        return Recorded(Recording(output), ran.stdout, ran.stderr)


def record(wallspy, options, command, timeout=60):
    """Launches COMMAND under wallspy to its end; asserts that both went well."""
    return record_to_end(wallspy, [*FULL_RATE, *options], ["--", *command], timeout)


def record_process(wallspy, options, pids, timeout=60, full_rate=True):
    """Records a process, or several ("1,2"), until OPTIONS' -d or its end."""
    options = [*(FULL_RATE if full_rate else ()), *options]
    recorded = record_to_end(wallspy, options, ["-p", pids], timeout)
    for pid in str(pids).split(","):
        assert_not_held(pid)
    return recorded


def record_attached(wallspy, options, command, timeout=60):
    """Starts COMMAND, attaches once it has printed a line, and records to its end; asserts that
    both went well."""
    with Target(command) as target:
        recording, _, stderr = record_process(wallspy, options, target.pid, timeout)
        if target.process.poll() is None:
            assert_let_go(target.pid)
        return Recorded(recording, f"{target.first}\n{target.rest()}", stderr)


def record_folded(wallspy, options, tail, environment=None, timeout=60):
    """The folded stacks of what TAIL says (["-p", PID] or ["--", COMMAND…]), and wallspy's
    messages."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.folded")
        ran = succeed([wallspy, *options, "-o", output, *tail], environment=environment,
                      timeout=timeout)
        return read_folded(output), ran.stderr


def await_text(stream, wanted):
    """Reads lines until one has WANTED in it; returns all of them."""
    text = ""
    for line in iter(stream.readline, ""):
        text += line
        if wanted in line:
            return text
    raise AssertionError(f"no {wanted!r} in: {text}")


class Wallspy:
    """`wallspy record` on a process, in a folder of its own, while the block goes on.  ends() waits
    for its end; the block's end kills it.  READY: waits until it samples.  OLDER: what the output
    has before."""

    def __init__(self, pid, *args, rate=1000, environment=None, prefix=(), as_user=None,
                 ready=True, older=None):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o777)
        self.output = os.path.join(self.folder.name, "out.json")
        if older is not None:
            pathlib.Path(self.output).write_text(older)
        # Held as long as it takes: what is tried here is the full rate.
        line = [*become(as_user), *prefix, programs["wallspy"], "record", "-p", str(pid),
                "-r", str(rate), *FULL_RATE, "-o", self.output, *map(str, args)]
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
        """Ends it by a signal; returns what it recorded."""
        self.process.send_signal(number)
        return self.ends()

    def ends(self, seconds=20):
        code = self.process.wait(seconds)
        if code != 0:
            raise AssertionError(f"wallspy ended with {code}: {self.text()}")
        return Recording(self.output)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
