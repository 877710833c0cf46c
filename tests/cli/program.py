"""What the tests of the program share: running it as a plain user, targets, and main()."""
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

IS_ROOT = os.geteuid() == 0
USER = "nobody" if IS_ROOT else pwd.getpwuid(os.geteuid()).pw_name
UID = pwd.getpwnam(USER).pw_uid
AS_USER = ["setpriv", "--reuid", USER, "--regid", "nogroup", "--clear-groups"] if IS_ROOT else []
programs = {}  # name → path; copies that every user may run


def run(*args, user=True, deny=None):
    """Runs the program on ARGS; returns its exit code, stdout, stderr as one line, and stderr."""
    line = list(AS_USER) if user else []
    if deny:
        line += [programs["deny"], deny]
    done = subprocess.run([*line, programs["program"], *map(str, args)], capture_output=True,
                          text=True, timeout=30, check=False)
    for message in done.stderr.splitlines():
        assert len(message) <= 79, message
    return done.returncode, done.stdout, " ".join(done.stderr.split()), done.stderr


def status(pid, field):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return re.search(rf"^{field}:\s*(.*)$", text, re.M).group(1)


class Target:
    """A process of tests/cli/target.c, by its kind, run by BECOME; ended when the block is left."""

    def __init__(self, kind, user=True, become=AS_USER):
        self.line = [*(become if user else []), programs["target"], kind]

    def __enter__(self):
        self.process = subprocess.Popen(self.line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid, self.tid = map(int, self.process.stdout.readline().split())
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


def main(doc):
    """Runs the tests of the calling script: PROGRAM DENY TARGET [unittest's arguments]."""
    if len(sys.argv) < 4:
        sys.exit(doc)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for name, path in zip(("program", "deny", "target"), sys.argv[1:4]):
            programs[name] = shutil.copy(path, folder)
        result = unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[4:]],
                               verbosity=2, exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
