"""Every reason why wallspy cannot attach, brought about for real: text and exit code.

usage: errors.py WALLSPY DENY TARGET [unittest's arguments]
Run by root, wallspy and its targets run as nobody where a plain user is what matters.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support.outcome import main
from support.processes import status, times_run, wait_until
from support.programs import AS_USER, IS_ROOT, UID, programs
from support.recording import Recording
from support.targets import CliTarget
from support.unharmed import assert_let_go
from support.wallspy import run

LOOKS = 30  # at a process, so that it is seen for a while
# A program of 32 bits that waits for ever, without any library.
PAUSE_32 = """
.globl _start
_start:
    mov $29, %eax   # pause
    int $0x80
    jmp _start
"""


def record(*args, **how):
    """Records ARGS shortly, into nothing."""
    return run("-d", "0.1", "-f", "folded", "-o", "/dev/null", *args, **how)


class Errors(unittest.TestCase):
    maxDiff = None

    def expect(self, result, code, text):
        self.assertEqual((result[0], result[2]), (code, text))

    def test_own_process_is_fine(self):
        with CliTarget("plain") as t:
            self.assertEqual(record("-q", t.pid)[:3], (0, "", ""))
            assert_let_go(t.pid)

    @unittest.skipUnless(IS_ROOT, "only root may have more groups")
    def test_thousands_of_groups(self):
        groups = ",".join(map(str, range(1_000_000_000, 1_000_002_000)))
        with CliTarget("plain", become_user=["setpriv", "--groups", groups]) as t:
            self.assertEqual(record("-q", t.pid, user=False)[:3], (0, "", ""))

    def test_thread_stands_for_its_process(self):
        with CliTarget("plain") as t:
            code, _, text, _ = record(t.tid, t.pid)
            self.assertEqual(code, 0)
            self.assertTrue(text.startswith(
                f"wallspy: {t.tid} is thread second of {t.pid}: sampling {t.pid} (only it: "
                f"--thread {t.tid}) wallspy: sampling {t.pid} "), text)

    def test_no_such_process(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        self.expect(record(dead.pid), 4, f"wallspy: {dead.pid}: no such process.")
        with CliTarget("plain") as t:
            self.expect(record("-q", dead.pid, t.pid), 0,
                        f"wallspy: warning: {dead.pid}: no such process.")

    @unittest.skipUnless(IS_ROOT, "a pid namespace takes root")
    def test_pid_of_a_container(self):
        last = int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) - 1
        inner = next(n for n in range(last, 0, -1) if not os.path.exists(f"/proc/{n}"))
        script = f"echo {inner - 1} >/proc/sys/kernel/ns_last_pid; sleep 60 & echo $!; wait"
        box = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh",
                                "-c", script], stdout=subprocess.PIPE, text=True)
        first = box.stdout.readline()
        if not first:
            self.skipTest("no namespaces here: a chroot has none")
        self.assertEqual(int(first), inner)
        _, _, text, _ = result = record(inner, user=False)
        outer = int(re.search(r"may be (\d+) here", text).group(1))
        self.assertEqual(status(outer, "NSpid").split()[-1], str(inner))
        self.expect(result, 4, f"wallspy: {inner}: no such process. (In that container it may be "
                               f"{outer} here.)")
        box.kill()
        box.wait()
        box.stdout.close()

    def test_zombie(self):
        with CliTarget("zombie") as t:
            self.expect(record(t.pid), 4, f"wallspy: {t.pid} (target) has ended; its parent has "
                                          "not collected it yet.")

    def test_kernel_thread(self):
        # Where its namespace of pids begins with a program of its own, 2 may be anybody.
        if not os.path.exists("/proc/2") or status(2, "Name") != "kthreadd":
            self.skipTest("no kernel thread is in this container's /proc")
        self.expect(record(2), 5, "wallspy: 2 (kthreadd) is a thread of the kernel: it runs no "
                    "program to sample.")

    def test_itself(self):
        line = f"echo $$; exec {programs['wallspy']} $$ -o /dev/null -f raw"
        done = subprocess.run(["sh", "-c", line],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stderr, f"wallspy: {done.stdout.strip()} is wallspy itself.\n")

    def test_other_user(self):
        pid, owner, uid = (os.getpid(), "root", 0) if IS_ROOT else (1, "root", 0)
        code, _, text, _ = record(pid)
        self.assertEqual(code, 3)
        self.assertTrue(text.startswith(
            f"wallspy: cannot attach to {pid}: it belongs to {owner} (uid {uid}), you are uid "
            f"{UID}. Ask its owner, or use sudo."), text)

    def test_view_of_a_refused_process(self):
        with CliTarget("nodump") as t:
            code, _, text, raw = record(t.pid)
            self.assertEqual(code, 3)
            self.assertRegex(raw, rf"\n  target {t.pid} +0% +0% +100%  \S+")
            self.assertTrue(text.startswith(
                f"wallspy: cannot attach to {t.pid}: it is not dumpable (set-uid, or "
                "prctl(PR_SET_DUMPABLE, 0)). Needs CAP_SYS_PTRACE. What /proc shows"), text)

    def view(self, target):
        """Begins to look at a refused process."""
        line = [*AS_USER, programs["wallspy"], "-f", "folded", "-o", "/dev/null", str(target.pid)]
        process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        self.assertIn("cannot attach", process.stderr.readline())
        before = times_run(process.pid)
        wait_until(lambda: times_run(process.pid) > before + LOOKS, what="it does not look")
        return process

    def test_thread_that_ends_in_the_view_of_a_refused_process(self):
        """All the time that it was seen it ran."""
        with CliTarget("brief") as t:
            process = self.view(t)
            t.say("x")
            text = process.communicate(timeout=20)[1]
            row = re.search(rf"\n  second {t.tid} +(\d+)% +(\d+)% .*\(ended\)", text)
            self.assertTrue(row, text)
            self.assertGreater(sum(map(int, row.groups())), 80, text)

    def test_view_of_a_refused_process_ends_when_asked(self):
        with CliTarget("brief") as t:
            process = self.view(t)
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=20)[1]
            self.assertLess(time.monotonic() - begun, 1)
            self.assertEqual(process.returncode, 3)
            self.assertRegex(text, rf"\n  second {t.tid} ")

    def test_traced(self):
        with CliTarget("traced") as t:
            self.expect(record("-q", t.pid), 3,
                        f"wallspy: cannot attach to {t.pid}: target (pid {t.process.pid}) is "
                        "tracing it. A process has one tracer.")

    @unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_its_own_tracer(self):
        """Held by wallspy, strace does not let wallspy go on: each waits for the other."""
        line = 'exec strace -o /dev/null "$0" record -d 1 -f folded -o /dev/null -p $$'
        done = subprocess.run(["sh", "-c", line, programs["wallspy"]], capture_output=True,
                              text=True, timeout=20)
        self.assertEqual(done.returncode, 5)
        self.assertRegex(" ".join(done.stderr.split()),
                         r"wallspy: cannot attach to \d+: strace traces wallspy itself, and each "
                         r"would wait for the other\.")

    @unittest.skipUnless(IS_ROOT and shutil.which("unshare"), "only root may make a pid namespace")
    def test_proc_of_another_pid_namespace(self):
        """The process of that number there is another one, which was stopped."""
        said = "/proc here is not that of this pid namespace, so its numbers are those of other " \
               "processes. First: mount -t proc proc /proc"
        with CliTarget("plain") as t:
            for line, code in (["-p", str(t.pid)], 5), (["--", "sh", "-c", "exit 7"], 7):
                done = subprocess.run(["unshare", "--pid", "--fork", programs["wallspy"], "record",
                                       "-d", "0.2", "-f", "folded", "-o", "/dev/null", *line],
                                      capture_output=True, text=True, timeout=20)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(said, " ".join(done.stderr.split()))

    def test_old_kernel(self):
        """As setarch(8) makes uname(2) call it."""
        old = ["setarch", "x86_64", "--uname-2.6"]
        release = subprocess.check_output([*old, "uname", "-r"], text=True).strip()
        said = f"wallspy needs Linux 4.18 or newer; this is Linux {release[:31]}."
        with CliTarget("plain") as t:
            for line, code in ((["dump", "-p", str(t.pid)], 5),
                               (["record", "-o", "none.folded", "-p", str(t.pid)], 5),
                               (["record", "-f", "folded", "-o", "/dev/null", "--", "sh", "-c",
                                 "exit 7"], 7)):
                done = subprocess.run([*old, programs["wallspy"], *line], capture_output=True,
                                      text=True, timeout=20)
                self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                self.assertIn(said, " ".join(done.stderr.split()))
        self.assertFalse(os.path.exists("none.folded"))

    def test_small_stacks(self):
        """A limit below what wallspy needs is the command's own affair."""
        for kib in 100, 160:
            command = "sleep 0.2; ulimit -s; exit 5"
            line = f'ulimit -s {kib}; exec "$0" record -o /dev/null -f folded -- sh -c "{command}"'
            done = subprocess.run(["sh", "-c", line, programs["wallspy"]], capture_output=True,
                                  text=True, timeout=20)
            self.assertEqual((done.returncode, done.stdout), (5, f"{kib}\n"), done.stderr)
            self.assertIn("quality", done.stderr)

    @unittest.skipUnless(shutil.which("gdb"), "no gdb")
    def test_traced_by_gdb(self):
        with CliTarget("plain") as t:
            gdb = subprocess.Popen([*AS_USER, "gdb", "-nx", "-q", "-p", str(t.pid)],
                                   stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            wait_until(lambda: status(t.pid, "TracerPid") != "0", 20)
            self.expect(record("-q", t.pid), 3,
                        f"wallspy: cannot attach to {t.pid}: gdb (pid {gdb.pid}) is tracing it. "
                        "A process has one tracer.")
            gdb.communicate(b"detach\nquit\n", timeout=20)

    def test_seccomp(self):
        with CliTarget("plain") as t:
            for error in ("EPERM", "ENOSYS"):
                self.expect(record("-q", t.pid, deny=f"ptrace={error}"), 3,
                            "wallspy: ptrace is blocked here by a seccomp filter (container). "
                            "docker --cap-add=SYS_PTRACE; kubernetes: an ephemeral debug "
                            "container with SYS_PTRACE that shares the pid namespace")

    def test_sandbox(self):
        with CliTarget("plain") as t:
            for user in (True, False):
                code, _, text, _ = record("-q", t.pid, deny="sandbox", user=user)
                if code == 77:
                    self.skipTest("no Landlock")
                self.assertEqual(code, 3)
                self.assertEqual(
                    text, f"wallspy: cannot attach to {t.pid} (target): a sandbox (Landlock or "
                    "another security module) lets wallspy look at its own children only. next "
                    f"time wallspy -- {programs['target']} plain now run wallspy outside of that "
                    "sandbox")

    @unittest.skipUnless(shutil.which("as") and shutil.which("ld"), "no assembler")
    def test_32_bit(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "pause.s")
            source.write_text(PAUSE_32)
            binary = pathlib.Path(folder, "pause32")
            subprocess.run(["as", "--32", "-o", f"{binary}.o", source], check=True)
            subprocess.run(["ld", "-m", "elf_i386", "-o", binary, f"{binary}.o"], check=True)
            try:
                process = subprocess.Popen([binary])
            except OSError:
                self.skipTest("the kernel runs no 32-bit programs")
            self.expect(record(process.pid, user=False), 5,
                        f"wallspy: {process.pid} (pause32) is a 32-bit program; wallspy samples "
                        "64-bit ones.")
            process.kill()
            process.wait()

    @staticmethod
    def record_with(fault, output, pid):
        done = subprocess.run([programs["wallspy"], "-d", "0.2", "-o", output, "-p", str(pid)],
                              stderr=subprocess.PIPE, text=True, timeout=30, check=False,
                              env=dict(os.environ, WALLSPY_EXPLAIN=fault))
        return done.returncode, " ".join(done.stderr.split())

    def test_what_explains_fails(self):
        """The recording is whole, and one line says so; also where no file was wanted."""
        with CliTarget("plain") as t, tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "x.json")
            for fault, reason in (("crash", "Aborted"), ("hang", "it took too long")):
                for name in (output, "none"):
                    code, said = self.record_with(fault, name, t.pid)
                    self.assertEqual(code, 0, said)
                    self.assertEqual(said.count(
                        "wallspy: warning: no findings and no table: the process that makes them "
                        f"failed ({reason}). The recording is whole. Please report this."), 1, said)
                    self.assertIn("wallspy: quality", said)
                written = Recording(output)
                self.assertIsNone(written.facts["findings"])
                self.assertEqual(written.facts["no_findings"], reason)
                self.assertTrue(written.frames)
                os.unlink(output)


if __name__ == "__main__":
    main(__doc__, "wallspy", "deny", "target")
