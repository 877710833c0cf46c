"""A recording that grows survives the end of wallspy, of the process that writes it, of both, and
of the room on its disk; the target does not notice.  Times are random: WALLSPY_SEED."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest
import unittest.mock

from support.chance import SEED, rounds
from support.cases import FolderTest
from support.outcome import main, skip_part
from support.processes import children, has_ended, status, wait_until
from support.programs import IS_ROOT, programs
from support.targets import CliTarget
from support.unharmed import assert_unharmed
from support.wallspy import call

RATE_HZ = 100
COMMITTED_S = 2.5  # by then something is in the file
LONGEST_S = 5
TRIES = 3


class Growing:
    """A recording of a target of its own into FOLDER/run.wallspy, and who writes it."""

    def __init__(self, folder, *options):
        self.path = pathlib.Path(folder, "run.wallspy")
        self.part = pathlib.Path(f"{self.path}.part")
        self.target = CliTarget("plain", user=False)
        self.process = subprocess.Popen(
            [programs["wallspy"], "-p", str(self.target.pid), "-r", str(RATE_HZ), *options, "-o",
             self.path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, universal_newlines=True)
        self.begun = time.monotonic()
        wait_until(self.part.exists, what="no file grows")
        self.writer = next(child for child in children(self.process.pid)
                           if status(child, "Name") == "wallspy-file")

    def wait_until(self, seconds):
        time.sleep(max(0, self.begun + seconds - time.monotonic()))

    def ends(self):
        """What wallspy says, once all of it has ended."""
        said = self.process.communicate(timeout=30)[1]
        wait_until(lambda: has_ended(self.writer), what="the writer does not end")
        return " ".join(said.split())

    def release(self):
        for pid in self.process.pid, self.writer:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()
        self.target.end()


class GrowingTest(FolderTest):
    def setUp(self):
        super().setUp()
        random.seed(SEED)
        self.lost_s = []

    def grow(self, folder=".", *options):  # pylint: disable=keyword-arg-before-vararg
        growing = Growing(folder, *options)
        self.addCleanup(growing.release)
        return growing

    def check_sums(self, path, complete):
        """The runs of each thread have the time that the kernel counted of it, but for the sample
        that was open; and every row refers to others that are there."""
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            self.assertEqual(file.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(file.execute("SELECT value FROM meta WHERE key = 'complete'")
                             .fetchone()[0], complete)
            rows = file.execute(
                "SELECT sum(wall) / 1e9, (t.cpu_ns + t.runqueue_ns + t.off_cpu_ns) / 1e9 "
                "FROM run r JOIN thread t ON t.id = r.thread GROUP BY t.id").fetchall()
            self.assertTrue(rows)
            for wall_s, counted_s in rows:
                self.assertAlmostEqual(wall_s, counted_s, delta=0.01 * counted_s + 3 / RATE_HZ)
            for column, table in (("stack", "stack"), ("thread", "thread"), ("wait", "wait")):
                self.assertEqual(file.execute(
                    f"SELECT count(*) FROM run WHERE {column} NOT IN (SELECT id FROM {table})")
                    .fetchone()[0], 0, column)
            return file.execute("SELECT value FROM meta WHERE key = 'end_ns'").fetchone()[0] / 1e9

    def small_disk(self):
        """A folder with 10 MB of room; None: there can be none here."""
        folder = tempfile.mkdtemp(dir=os.getcwd())
        mounted = IS_ROOT and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=10m", "none", folder], check=False,
            stderr=subprocess.DEVNULL).returncode == 0
        if not mounted:
            skip_part("full-disk", "no file system of any size can be mounted here")
            return None
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=False)
        return folder

    def fill(self, folder):
        other = os.open(os.path.join(folder, "other"), os.O_WRONLY | os.O_CREAT)
        self.addCleanup(os.close, other)
        with contextlib.suppress(OSError):
            while os.write(other, b"x" * 4096):
                pass

    def report(self, path):
        done = call([programs["wallspy"], "report", path])
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("where its time goes", done.stdout)
        return " ".join(done.stderr.split())

    def check_cut(self, growing, found, killed_s):
        end_s = self.check_sums(found, 0)
        self.assertLessEqual(end_s, killed_s + 0.5)
        self.lost_s.append(killed_s - end_s)
        said = self.report(growing.path)
        self.assertIn(f"{found} is no whole recording: ", said)
        self.assertIn(f"its first {end_s:.1f} s.", said)
        told = call([programs["wallspy"], "report", "--json", growing.path])
        quality = json.loads(told.stdout)["quality"]
        self.assertFalse(quality["whole"])
        self.assertIn("the recording's end is missing", quality["words"])
        assert_unharmed(growing.target)


class Killed(GrowingTest):
    def kill(self, who, growing):
        killed_s = time.monotonic() - growing.begun
        for pid in [growing.writer] * (who != "wallspy") + \
                [growing.process.pid] * (who != "writer"):
            os.kill(pid, signal.SIGKILL)
        return killed_s

    def check_killed(self, who, growing, killed_s):
        if who == "writer":
            growing.process.send_signal(signal.SIGINT)
            self.check_writer_killed(growing)
            return
        growing.ends()
        kept = who == "both" or growing.older
        if growing.older:
            self.assertEqual(growing.path.read_text(), "older")
            growing.path.unlink()
        self.assertEqual(growing.part.exists(), kept)
        self.check_cut(growing, growing.part if kept else growing.path, killed_s)
        if who == "both":
            self.check_made_whole(growing.part)

    def check_made_whole(self, part):
        whole = pathlib.Path(part.parent, "whole.wallspy")
        done = call([programs["wallspy"], "export", part, "-o", whole])
        self.assertEqual(done.code, 0, done.stderr)
        self.check_sums(whole, 1)
        self.assertEqual(self.report(whole), "")
        self.assertEqual(os.listdir(whole.parent).count(f"{whole.name}-wal"), 0)

    def check_writer_killed(self, growing):
        said = growing.ends()
        self.assertEqual(growing.process.returncode, 0, said)
        self.assertEqual(said.count("was killed: the recording is written at the end"), 1, said)
        self.check_sums(growing.path, 1)
        self.assertEqual(self.report(growing.path), "")
        self.assertEqual(os.listdir(growing.path.parent), ["run.wallspy"])
        assert_unharmed(growing.target)

    def grow_beside(self, parent, older):
        folder = tempfile.mkdtemp(dir=parent)
        if older:
            pathlib.Path(folder, "run.wallspy").write_text("older")
        growing = self.grow(folder)
        growing.older = older
        return growing

    def kill_each(self):
        """Wallspy, its writer and both, on the disk and in memory, at random moments."""
        memory = tempfile.mkdtemp(dir="/dev/shm")
        self.addCleanup(shutil.rmtree, memory, True)
        tries = [(random.uniform(COMMITTED_S, LONGEST_S), who, self.grow_beside(folder, older))
                 for who in ("wallspy", "writer", "both")
                 for folder, older in ((".", True), (memory, False))]
        tries.sort(key=lambda each: each[0])
        killed = []
        for moment_s, who, growing in tries:
            growing.wait_until(moment_s)
            killed.append((who, growing, self.kill(who, growing)))
        time.sleep(0.6)  # until wallspy has seen that the writer is gone
        for each in killed:
            self.check_killed(*each)

    def test_each_is_killed(self):
        for _ in range(rounds(TRIES)):
            self.kill_each()
        # On a busy machine wallspy comes late, but hardly each time.
        self.assertLess(min(self.lost_s), 3.5)

    def test_what_is_discarded_leaves_nothing(self):
        growing = self.grow()
        growing.wait_until(1)
        os.kill(growing.writer, signal.SIGSTOP)  # so that the end takes as long as it likes
        growing.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        growing.process.send_signal(signal.SIGINT)
        self.assertIn("discarded, as asked", growing.ends())
        self.assertEqual(os.listdir("."), [])
        assert_unharmed(growing.target)


class Grows(GrowingTest):
    def test_the_file_grows_and_is_told(self):
        growing = self.grow()
        growing.wait_until(COMMITTED_S + 1)
        self.assertEqual(growing.part.stat().st_mode & 0o777, 0o600)
        self.assertIn("run.wallspy.part is still being written: this is its first ",
                      self.report("run.wallspy"))
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            os.kill(growing.writer, number)
        self.assertNotEqual(os.getsid(growing.writer), os.getsid(growing.process.pid))
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, growing.writer),
                         min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19))
        growing.process.send_signal(signal.SIGINT)
        said = growing.ends()
        self.assertEqual(growing.process.returncode, 0, said)
        self.assertIn("the recording grows in ", said)
        self.check_sums("run.wallspy", 1)
        self.assertEqual(self.report("run.wallspy"), "")
        self.assertEqual(os.listdir("."), ["run.wallspy"])
        assert_unharmed(growing.target)

    def test_a_folder_may_be_a_link(self):
        os.mkdir("folder")
        os.symlink("folder", "link")
        growing = self.grow("link")
        growing.wait_until(COMMITTED_S)
        self.check_sums(growing.part, 0)
        growing.process.send_signal(signal.SIGINT)
        said = growing.ends()
        self.assertEqual(growing.process.returncode, 0, said)
        self.assertNotIn("cannot grow", said)
        self.assertEqual(os.listdir("folder"), ["run.wallspy"])
        assert_unharmed(growing.target)

    def test_an_earlier_recording_is_told_as_such(self):
        earlier = self.grow()
        earlier.wait_until(1)
        earlier.process.send_signal(signal.SIGINT)
        earlier.ends()
        growing = self.grow()
        growing.wait_until(COMMITTED_S)
        self.assertIn("run.wallspy is an earlier recording. What there is of a later one is in "
                      "run.wallspy.part.", self.report("run.wallspy"))
        growing.process.send_signal(signal.SIGINT)
        growing.ends()
        self.assertEqual(self.report("run.wallspy"), "")

    def test_it_is_what_is_written_at_once(self):
        """The second file of a recording does not grow; both say the same, with many processes."""
        script = "for i in $(seq 50); do sleep 0.3 & sh -c 'sleep 0.03'; done; wait"
        done = call([programs["wallspy"], "--subprocesses", "-o", "grown.wallspy", "-o",
                     "once.wallspy", "--", "sh", "-c", script])
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("the recording grows in grown.wallspy.part", done.stderr)
        modes = [os.stat(f"{name}.wallspy").st_mode for name in ("grown", "once")]
        self.assertEqual(modes[0], modes[1])
        for name in "grown", "once":
            done = call([programs["wallspy"], "export", f"{name}.wallspy", "-o", f"{name}.json"])
            self.assertEqual(done.code, 0, done.stderr)
        self.assertEqual(pathlib.Path("grown.json").read_bytes(),
                         pathlib.Path("once.json").read_bytes())

    def test_others_may_read_it_unless_it_was_private(self):
        mask = os.umask(0o022)
        self.addCleanup(os.umask, mask)
        for before, after in (None, 0o644), (0o600, 0o600):
            if before:
                os.chmod("run.wallspy", before)
            done = call([programs["wallspy"], "-o", "run.wallspy", "--", "sleep", "0.3"])
            self.assertEqual(done.code, 0, done.stderr)
            self.assertEqual(os.stat("run.wallspy").st_mode & 0o777, after)

    def test_a_reader_keeps_what_it_reads(self):
        """One that is in the middle of it at the end: others have a whole file all the same."""
        growing = self.grow()
        growing.wait_until(COMMITTED_S)
        with contextlib.closing(sqlite3.connect(f"file:{growing.part}?mode=ro", uri=True,
                                                isolation_level=None)) as reader:
            reader.execute("BEGIN")
            before = reader.execute("SELECT count(*) FROM run").fetchall()
            growing.wait_until(COMMITTED_S + 2.5)
            growing.process.send_signal(signal.SIGINT)
            said = growing.ends()
            self.assertEqual(growing.process.returncode, 0, said)
            self.assertEqual(reader.execute("SELECT count(*) FROM run").fetchall(), before)
            self.assertGreater(self.check_sums("run.wallspy", 1), COMMITTED_S + 2)
            self.assertEqual(os.listdir("."), ["run.wallspy"])

    def test_two_of_one_name_do_not_meet(self):
        """The second is written at its end, and the first one, which ends last, beside it."""
        first = self.grow()
        with CliTarget("plain", user=False) as target:
            done = call([programs["wallspy"], "-p", target.pid, "-d", 1, "-o", "run.wallspy"])
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("cannot grow: another wallspy writes it.", " ".join(done.stderr.split()))
        self.assertTrue(first.part.exists())
        first.wait_until(COMMITTED_S)
        self.assertLess(self.check_sums("run.wallspy", 1), 1.5)
        first.process.send_signal(signal.SIGINT)
        said = first.ends()
        (kept,) = [name for name in os.listdir(".") if name != "run.wallspy"]
        self.assertIn("run.wallspy: it has changed since the recording began. The "
                      "recording is in ", said)
        self.assertIn(kept, said)
        self.assertLess(self.check_sums("run.wallspy", 1), 1.5)
        self.assertGreater(self.check_sums(kept, 1), 1.5)

    def test_a_disk_that_does_not_answer_delays_nothing(self):
        """The samples go on, and all of them are in the file at the end."""
        growing = self.grow()
        growing.wait_until(1)
        os.kill(growing.writer, signal.SIGSTOP)
        growing.wait_until(4)
        os.kill(growing.writer, signal.SIGCONT)
        growing.process.send_signal(signal.SIGINT)
        said = growing.ends()
        self.assertEqual(growing.process.returncode, 0, said)
        self.assertGreater(self.check_sums("run.wallspy", 1), 3.5)

    def test_a_full_disk_keeps_what_there_is(self):
        folder = self.small_disk()
        if not folder:
            return
        growing = self.grow(folder)
        growing.wait_until(COMMITTED_S)
        self.fill(folder)
        growing.wait_until(COMMITTED_S + 4)
        self.check_sums(growing.part, 0)
        growing.process.send_signal(signal.SIGINT)
        said = growing.ends()
        self.assertEqual(said.count("there is no room on its disk"), 1, said)
        self.report(growing.part if growing.part.exists() else growing.path)
        assert_unharmed(growing.target)


class Ring(GrowingTest):
    """The last 2 s of a recording are kept, in each of its files."""
    KEPT_S = 2

    def ring_of(self, path):
        """How long it is, by its file."""
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            return file.execute("SELECT value FROM meta WHERE key = 'end_ns'").fetchone()[0] / 1e9

    def test_a_snapshot_and_the_end_have_the_last_seconds(self):
        growing = self.grow(".", "--ring", f"{self.KEPT_S}s", "-o", "run.json")
        growing.wait_until(4)
        done = call([programs["wallspy"], "ctl", growing.process.pid, "snapshot"])
        self.assertEqual(done.code, 0, done.stderr)
        growing.wait_until(6)
        self.assertIn("run.wallspy.part is still being written: this is its last 2.0 s.",
                      self.report("run.wallspy"))
        growing.process.send_signal(signal.SIGINT)
        said = growing.ends()
        self.assertEqual(growing.process.returncode, 0, said)
        self.assertRegex(said, r"quality( ok)?: (9\d|100)% of the time seen")
        self.assertNotIn("order in time", said)
        self.assertRegex(said, r"kept: the last 2 s of [\d.]+ s \(--ring\)")
        for name in "run.wallspy", "run.snap1.wallspy":
            self.check_sums(name, 1)
            self.assertAlmostEqual(self.ring_of(name), self.KEPT_S, delta=0.001, msg=name)
            self.assertEqual(self.report(name), "")
        for name in "run.json", "run.snap1.json":
            made = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
            ends_us = [profile["endValue"] for profile in made["profiles"]
                       if profile["name"].startswith("main ")]
            self.assertAlmostEqual(max(ends_us) / 1e6, self.KEPT_S, delta=0.001, msg=name)
        self.assertFalse(growing.part.exists())
        assert_unharmed(growing.target)

    def test_one_that_is_killed_has_them_too(self):
        growing = self.grow(".", "--ring", f"{self.KEPT_S}s")
        growing.wait_until(6)
        for pid in growing.writer, growing.process.pid:
            os.kill(pid, signal.SIGKILL)
        growing.ends()
        self.assertIn("This is its last 2.0 s.", self.report("run.wallspy"))
        assert_unharmed(growing.target)

    def test_a_full_disk_at_the_end_keeps_what_has_grown(self):
        """There is no room for the ring anew, here or elsewhere."""
        folder = self.small_disk()
        if not folder:
            return
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)
        with unittest.mock.patch.dict(os.environ, TMPDIR=folder):
            growing = self.grow(".", "--ring", f"{self.KEPT_S}s")
        growing.wait_until(4)
        self.fill(folder)
        growing.process.send_signal(signal.SIGINT)
        said = growing.ends()
        self.assertEqual(growing.process.returncode, 1, said)
        if "cannot grow" not in said:  # the writer had not met it before
            self.assertRegex(said, r"No space left on device\. The recording is in \S*run\.wallspy")
        self.report(growing.part if growing.part.exists() else growing.path)
        assert_unharmed(growing.target)

    def test_a_short_one_has_all(self):
        growing = self.grow(".", "--ring", "1h")
        growing.wait_until(COMMITTED_S)
        growing.process.send_signal(signal.SIGINT)
        self.assertNotIn("kept:", growing.ends())
        self.assertGreater(self.check_sums("run.wallspy", 1), COMMITTED_S - 0.5)


if __name__ == "__main__":
    main(__doc__, "wallspy", "target")
