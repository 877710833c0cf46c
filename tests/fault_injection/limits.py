"""Too little of something: disk, descriptors, memory, file size, permissions, standard streams.
wallspy says so, or copes; the target goes on, an older file stays as it was.

usage: limits.py WALLSPY TARGETS [unittest's arguments]
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import trial
from support.outcome import main
from support.processes import wait_until
from support.programs import AS_USER, IS_ROOT, PLAIN_USER, is_sanitized, programs
from support.targets import HarmTarget
from support.wallspy import Wallspy

RECORD = ("record", "-r", "500", "-d", "0.3", "--max-overhead", "100", "-p")


class Limits(trial.Trials):
    """Runs wallspy on one target with too little; counts what happened."""

    def __init__(self, target):
        super().__init__(target)
        self.figures = {"runs": 0, "coped": 0, "refused": 0}

    def run(self, *command, prefix=(), output=None, codes=(0, 1), **how):
        """Its exit code and what it said on stderr."""
        line = [*prefix, programs["wallspy"], *map(str, command)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                   "stderr": subprocess.PIPE, **how}
        with subprocess.Popen(line, text=True, **streams) as process:
            try:
                code = trial.await_end(process)
                text = " ".join((process.stderr.read() if process.stderr else "").split())
            finally:
                process.kill()
        try:
            self.judge(code, codes, output)
        except AssertionError as error:
            raise trial.Failure(f"{line}: exit {code}: {error}\n{text}") from error
        self.figures["runs"] += 1
        self.figures["refused" if code else "coped"] += 1
        return code, self.without_kept(text)

    @staticmethod
    def without_kept(text):
        """TEXT without where a recording is that found no place where it should be, which is
        removed."""
        kept = re.search(r"\. The recording is in (\S+)\.", text)
        if not kept:
            return text
        assert os.path.getsize(kept.group(1)), "nothing is in it"
        os.unlink(kept.group(1))
        return text.replace(kept.group(0), "")

    def judge(self, code, codes, output):
        self.check.assertIn(code, codes, "exit code")
        self.assert_goes_on()
        if output:
            trial.output_of(output, must_exist=code == 0)
            folder, name = os.path.split(output)
            self.check.assertEqual(trial.leftovers(folder, name), [], "left behind")

    def record(self, prefix=(), seconds=0.3, **how):
        """Over an older file."""
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "out.json")
            pathlib.Path(output).write_text(trial.OLDER)
            return self.run(*RECORD, self.target.pid, "-d", seconds, "-o", output, prefix=prefix,
                            output=output, **how)

    def limited(self, limit, value, codes=(0, 1)):
        return self.record(prefix=("prlimit", f"--{limit}={value}:{value}"), codes=codes)


@contextlib.contextmanager
def small_disk(*options):
    """A file system in memory.  What is mounted is gone with the folder."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", folder],
                       check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)


def can_mount():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], stderr=subprocess.DEVNULL,
                              check=False)
        if done.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return done.returncode == 0


class TooLittle(unittest.TestCase):
    def setUp(self):
        self.target = HarmTarget("work", "sums", 2)
        self.addCleanup(self.target.end)
        self.limits = Limits(self.target)
        self.pid = self.target.pid

    def test_full_device(self):
        """A recording's answer is given all the same."""
        for command, what in (((*RECORD, self.pid, "-f", "folded", "-o", "/dev/full"), "/dev/full"),
                              (("dump", "-p", self.pid), "the dump"),
                              (("dump", "--json", "-p", self.pid), "the dump")):
            with open("/dev/full", "wb") as full:
                code, text = self.limits.run(*command, stdout=full)
            self.assertEqual(code, 1)
            self.assertIn(f"wallspy: cannot write {what}: No space left on device", text)
            self.assertEqual("where its time goes" in text, command[0] == "record")

    def test_messages_lost(self):
        with open("/dev/full", "wb") as full:
            self.limits.record(stderr=full, stdout=full, codes=(0,), seconds=1)

    def test_closed_pipe(self):
        """A recording says what was lost; a dump ends as other filters do (`dump | head`)."""
        silent = -signal.SIGPIPE, ""
        for command, expected in (
                ((*RECORD, self.pid, "-q", "-o", "-"), (1, "wallspy: cannot write -: Broken pipe")),
                (("dump", "-p", self.pid), silent), (("dump", "--json", "-p", self.pid), silent)):
            reader, writer = os.pipe()
            os.close(reader)
            result = self.limits.run(*command, codes=(1, -signal.SIGPIPE), stdout=writer)
            os.close(writer)
            self.assertEqual(result, expected, command)

    def test_closed_streams(self):
        """A file that is opened instead of a closed one must not get the messages."""
        for closed in ("2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            self.limits.record(prefix=("sh", "-c", f'"$@" {closed}', "sh"), codes=(0,), seconds=1)
        code, _ = self.limits.run("dump", "-p", self.pid, prefix=("sh", "-c", '"$@" >&-', "sh"))
        self.assertEqual(code, 1)

    def test_file_size(self):
        for size in 0, 1, 1000, 4096:
            _, text = self.limits.limited("fsize", size, codes=(1,))
            self.assertIn("File too large", text)

    def test_descriptors(self):
        # 127: too few to load its libraries.
        codes = [self.limits.limited("nofile", n, codes=(0, 1, 127))[0]
                 for n in (3, 4, 8, 16, 31, 32)]
        self.assertEqual(codes[-1], 0)

    def test_memory(self):
        if is_sanitized():
            self.skipTest("a sanitizer reserves terabytes")
        # What the dynamic linker cannot load is 127; below that the kernel starts no program.
        # libdw does not expect to run out of memory: it may end by an assertion, or worse.
        codes = [self.limits.limited("as", n << 20, codes=(0, 1, 127, 126, -signal.SIGKILL,
                                                           -signal.SIGSEGV, -signal.SIGABRT))[0]
                 for n in (4, 16, 64, 72, 80, 90, 100, 120, 140, 170, 1000)]
        self.assertEqual(codes[-1], 0)

    def test_unwritable(self):
        with HarmTarget("work", "sums", 1, as_user=PLAIN_USER) as target, \
                tempfile.TemporaryDirectory() as folder:
            limits = Limits(target)
            os.chmod(folder, 0o555)
            code, text = limits.run(*RECORD, target.pid, "-o", f"{folder}/out.json", prefix=AS_USER)
        self.assertEqual(code, 1)
        self.assertIn("Permission denied", text)
        self.assertNotIn("sampling", text)

    def test_folder_goes_away(self):
        folder = tempfile.mkdtemp()
        with Wallspy(self.pid) as wallspy:
            os.rename(wallspy.folder.name, folder)
            wallspy.process.send_signal(signal.SIGINT)
            self.assertEqual(trial.await_end(wallspy.process), 1)
            self.assertEqual(os.listdir(folder), ["log"])
            os.rename(folder, wallspy.folder.name)
            said = " ".join(wallspy.text().split())
        self.assertIn("No such file", said)
        self.assertNotEqual(self.limits.without_kept(said), said)
        self.limits.assert_goes_on()


@unittest.skipUnless(IS_ROOT and can_mount(), "may not mount")
class Disks(unittest.TestCase):
    def setUp(self):
        self.target = HarmTarget("work", "sums", 2)
        self.addCleanup(self.target.end)
        self.limits = Limits(self.target)

    def test_full(self):
        for compressed in "", ".gz":
            with small_disk("size=4k") as folder:
                pathlib.Path(folder, "full").write_bytes(b"x" * 4096)
                code, text = self.limits.run(*RECORD, self.target.pid, "-o",
                                             f"{folder}/out.json{compressed}")
                self.assertEqual(os.listdir(folder), ["full"])
            self.assertEqual(code, 1)
            self.assertIn("No space left", text)

    def test_full_in_the_middle(self):
        with small_disk("size=8k") as folder:
            output = os.path.join(folder, "out.json")
            pathlib.Path(output).write_text(trial.OLDER)
            code, text = self.limits.run(*RECORD, self.target.pid, "-o", output, output=output)
        self.assertEqual(code, 1)
        self.assertIn("No space left", text)

    def test_full_for_a_while(self):
        """A snapshot is lost; the recording goes on and has its place at the end."""
        with small_disk("size=1m") as folder:
            output = os.path.join(folder, "out.json")
            filler = pathlib.Path(folder, "filler")
            filler.write_bytes(b"x" * (1 << 20))
            with Wallspy(self.target.pid, "-o", output) as wallspy:
                wallspy.process.send_signal(signal.SIGUSR1)
                wait_until(lambda: "No space left" in wallspy.text())
                filler.unlink()
                wallspy.process.send_signal(signal.SIGINT)
                self.assertEqual(trial.await_end(wallspy.process), 0)
                self.assertTrue(trial.output_of(output, must_exist=True))
        self.limits.assert_goes_on()

    def test_read_only(self):
        with small_disk("ro") as folder:
            code, text = self.limits.run(*RECORD, self.target.pid, "-o", f"{folder}/out.json")
        self.assertEqual(code, 1)
        self.assertIn("Read-only file system", text)
        self.assertNotIn("sampling", text)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
