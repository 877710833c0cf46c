"""What wallspy leaves in the world: one file, under a temporary name until it is whole, and the
folder for the socket of `wallspy ctl`, which goes with it.

strace follows all threads of wallspy, which attaches, and its log must have no call that writes,
listens, connects, becomes another user or starts a process, but those named here.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support.cases import HarmTest
from support.outcome import main
from support.programs import programs
from support.targets import CountingTarget, HarmTarget


TRACED = (
    "%file,%network,%creds,%process,%ipc,ptrace,mmap,memfd_create,process_vm_writev,pidfd_open,"
    "write,writev,pwrite64,pwritev,pwritev2,sendfile,splice,copy_file_range,ftruncate,fallocate,"
    "fchmod,fchown,fsetxattr,utimensat,io_uring_setup")
# Those that change nothing.
READING = {"access", "faccessat", "faccessat2", "getcwd", "lstat", "newfstatat", "readlink",
           "readlinkat",
           "stat", "statfs", "statx", "capget", "getegid", "geteuid", "getgid", "getresgid",
           "getresuid", "getuid", "prctl", "exit", "exit_group", "wait4",
           "waitid"}
PTRACE = {"PTRACE_SEIZE", "PTRACE_INTERRUPT", "PTRACE_GETREGSET", "PTRACE_DETACH",
          "PTRACE_PEEKSIGINFO"}
WRITING_FLAGS = re.compile(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)")
PYTHON = """
import os, threading, time
def spin():
    while True: sum(range(1000))
threading.Thread(target=spin, daemon=True).start()
print("rounds=0", flush=True)
os.read(0, 1)
"""


def calls_in(log):
    """Name and arguments of each call, whether it was interrupted by another thread's line or
    not."""
    return re.findall(r"^\d+ +(\w+)\((.*)$", pathlib.Path(log).read_text(errors="replace"), re.M)


def children_in(log):
    """The pids that its own calls gave wallspy's threads and children."""
    return set(re.findall(r"\b(?:clone3?\(|clone3? resumed>).*\) = (\d+)$",
                          pathlib.Path(log).read_text(errors="replace"), re.M))


class Judge:
    """Which calls are allowed in a run that may write OUTPUT, and what it prints to STREAMS."""

    def __init__(self, log, output, *streams):
        self.own = children_in(log)
        folder, name = os.path.split(output)
        self.output = output
        self.sockets = os.path.join(folder, "ctl")
        # The name has wallspy's pid in it.
        self.temporary = re.compile(rf"{re.escape(folder)}/\.{re.escape(name)}\.\d+\.tmp")
        self.streams = streams
        self.execs = 0
        self.children = 0

    def paths(self, arguments):
        return re.findall(r'"([^"]*)"', arguments)

    def is_temporary(self, path):
        return bool(self.temporary.fullmatch(path))

    @staticmethod
    def is_socket(path):
        """Below the descriptor of the folder for sockets."""
        return bool(re.fullmatch(r"/proc/self/fd/\d+/\d+\.(new|sock)", path))

    def may(self, name, arguments):
        check = getattr(self, f"may_{name}", None)
        return check(arguments) if check else name in READING

    def may_execve(self, _):
        self.execs += 1
        return self.execs == 1

    def may_openat(self, arguments):
        path = self.paths(arguments)[0]
        return not WRITING_FLAGS.search(arguments) or self.is_temporary(path) or path == "/dev/null"

    may_open = may_openat

    def may_unlink(self, arguments):
        path = self.paths(arguments)[0]
        return self.is_temporary(path) or self.is_socket(path)

    def may_rename(self, arguments):
        old, new = self.paths(arguments)
        return (self.is_temporary(old) and new == self.output) or \
            (self.is_socket(old) and self.is_socket(new))

    def may_mkdir(self, arguments):
        return self.paths(arguments) == [self.sockets] and ", 0700" in arguments

    def may_socket(self, arguments):
        return arguments.startswith("AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, 0")

    def may_bind(self, arguments):
        return "sa_family=AF_UNIX" in arguments and self.is_socket(self.paths(arguments)[0])

    def may_listen(self, arguments):
        return "<socket:[" in arguments or "<UNIX" in arguments

    def may_write(self, arguments):
        path = re.match(r"\d+<([^>]*)>", arguments).group(1)
        return self.is_temporary(path) or path in self.streams or \
            path == "anon_inode:[eventfd]" or path.startswith("pipe:[")  # a child's

    def may_fchown(self, arguments):
        return self.is_temporary(re.match(r"\d+<([^>]*)>", arguments).group(1))

    def may_openat2(self, arguments):
        """Of the lines of source that a dump shows."""
        return "flags=O_RDONLY" in arguments and "O_CREAT" not in arguments and \
            "RESOLVE_NO_SYMLINKS|RESOLVE_IN_ROOT" in arguments

    def may_clone(self, arguments):
        """Threads, the child that names (symbolizer/naming.h) and the one that explains
        (cli/explanation.h), which start no program."""
        self.children += "CLONE_THREAD" not in arguments
        return self.children <= 2

    may_clone3 = may_clone

    def may_pidfd_open(self, arguments):
        return arguments.split(",")[0] in self.own

    def may_pidfd_send_signal(self, arguments):
        return "<anon_inode:[pidfd]>" in arguments  # of those, and no other

    def may_ptrace(self, arguments):
        request, _, rest = arguments.partition(", ")
        return request in PTRACE or (request == "PTRACE_POKEUSER" and "8*RAX" in rest)

    def may_mmap(self, arguments):
        return not ("MAP_SHARED" in arguments and "PROT_WRITE" in arguments)


@unittest.skipUnless(shutil.which("strace"), "no strace")
class Footprint(HarmTest):
    def run_in(self, folder, *line):
        output, log, prints = (os.path.join(folder, name)
                               for name in ("out.json.gz", "log", "prints"))
        environment = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
        # it takes ptrace, and no folder for reports is made
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
        environment["WALLSPY_CTL_DIR"] = os.path.join(folder, "ctl")
        line = [output if word == "OUTPUT" else word for word in line]
        with open(prints, "wb") as stream:
            subprocess.run(["strace", "-f", "-qq", "--seccomp-bpf", "-y", "-s", "4096", "-o", log,
                            "-e", f"trace={TRACED}", programs["wallspy"], *line],
                           stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=environment,
                           check=True, timeout=30)
        judge = Judge(log, output, prints)
        calls = calls_in(log)
        bad = [f"{name}({arguments}" for name, arguments in calls if not judge.may(name, arguments)]
        self.assertEqual(bad, [])
        seen = {re.match(r"PTRACE_\w+|", arguments)[0] or name for name, arguments in calls}
        files = sorted(os.listdir(folder))
        if "ctl" in files:
            os.rmdir(os.path.join(folder, "ctl"))  # it is empty
        return seen, files

    def check(self, target, *line):
        with tempfile.TemporaryDirectory() as folder:
            seen, files = self.run_in(folder, line[0], "-p", str(target.pid), *line[1:])
        self.assert_unharmed(target)
        self.assertLessEqual({"execve", "openat", "write"}, seen)  # the log is one
        return seen, files

    def check_all(self, target):
        seen, files = self.check(target, "record", "-d", "0.5", "-r", "200", "-o", "OUTPUT")
        self.assertLessEqual({"PTRACE_SEIZE", "clone3", "rename", "bind"}, seen)
        self.assertEqual(files, ["ctl", "log", "out.json.gz", "prints"])
        _, files = self.check(target, "dump")
        self.assertEqual(files, ["log", "prints"])

    def test_c(self):
        with HarmTarget("work", "sums", 2) as target:
            self.check_all(target)
            seen, _ = self.check(target, "record", "-d", "0.3", "--no-stop", "-o", "OUTPUT")
            self.assertNotIn("PTRACE_SEIZE", seen)

    def test_python(self):
        with CountingTarget([sys.executable, "-c", PYTHON]) as target:
            self.check_all(target)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
