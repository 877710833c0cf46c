"""A recording is kept, and says again what it said."""
import json
import os
import pathlib
import sqlite3
import time
import unittest

from support.cases import FolderTest
from support.outcome import main
from support.programs import programs
from support.schema import violations
from support.targets import CliTarget
from support.wallspy import call

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "report-recording-1.schema.json").read_text(encoding="utf-8"))


class Kept(FolderTest):
    def wallspy(self, *args):
        return call([programs["wallspy"], *args])

    def record(self, *options):
        """What wallspy prints of two seconds, with run.wallspy made."""
        with CliTarget("plain") as target:
            done = self.wallspy("-p", target.pid, "-d", "2", "-o", "run.wallspy", *options)
        self.assertEqual(done.code, 0, done.stderr)
        return done.stderr

    def refused(self, *args, code=1):
        done = self.wallspy("report", *args)
        self.assertEqual((done.code, done.stdout), (code, ""), done.stderr)
        return done.stderr

    def test_the_answer_comes_again_word_for_word(self):
        said = self.record()
        again = self.wallspy("report", "run.wallspy")
        self.assertEqual((again.code, again.stderr), (0, ""))
        self.assertIn("where its time goes", again.stdout)
        self.assertIn("wallspy: quality", again.stdout)
        self.assertTrue(said.endswith(again.stdout), f"{said}\n---\n{again.stdout}")
        tree = self.wallspy("report", "run.wallspy", "--tree", "--waits").stdout
        self.assertRegex(tree, r"(?s)blocked +threads .*\n\n +[\d.]+ +main \d+: run ")
        stats = self.wallspy("report", "run.wallspy", "--stats").stdout
        self.assertIn("  rate_asked_hz ", stats)

    def test_every_format_comes_out_of_it(self):
        files = ["run.json", "run.folded", "run.svg", "run.json.gz"]
        self.record("-q", "-w", "faults", *(word for file in files for word in ("-o", file)))
        for file in files:
            done = self.wallspy("export", "-w", "faults", "run.wallspy", "-o", "again." + file)
            self.assertEqual(done.code, 0, done.stderr)
            self.assertIn("wrote ", done.stderr)
            self.assertEqual(pathlib.Path("again." + file).read_bytes(),
                             pathlib.Path(file).read_bytes(), file)
        done = self.wallspy("export", "run.wallspy", "-f", "folded", "-o", "-")
        self.assertEqual((done.code, done.stdout), (0, pathlib.Path("run.folded").read_text()))
        self.assertIn("File exists", self.wallspy("export", "run.wallspy", "-f", "svg").stderr)
        os.unlink("run.svg")
        self.assertEqual(self.wallspy("export", "run.wallspy", "-f", "svg").code, 0)
        self.assertTrue(os.path.exists("run.svg"))
        self.assertEqual(self.wallspy("export", "run.wallspy", "-f", "pdf").code, 2)
        self.assertEqual(self.wallspy("export", "run.json", "-f", "folded").code, 1)

    def test_a_part_of_it_is_one_too(self):
        self.record("-q")
        done = self.wallspy("report", "--from", "+0.5s", "--to", "-0.5s", "run.wallspy")
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\Awallspy: window 0\.500 to 1\.\d+ s of [12]\.\d+ s "
                                      r"\(\d\d:\d\d:\d\d\.\d to ")
        self.assertIn("where its time goes", done.stdout)
        with sqlite3.connect("run.wallspy") as file:
            (start,) = file.execute("SELECT value FROM meta WHERE key='start_utc_ns'").fetchone()
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start // 10**9 + 1))
        done = self.wallspy("export", "--from", moment, "run.wallspy", "-o", "part.wallspy")
        self.assertEqual(done.code, 0, done.stderr)
        self.assertIn("wallspy: window ", done.stderr)
        threads = self.wallspy("report", "--threads", "part.wallspy").stdout
        whole = self.wallspy("report", "--threads", "--from", moment, "run.wallspy").stdout
        self.assertEqual(threads, whole.partition("  thread ")[1] + whole.partition("  thread ")[2])
        self.assertIn("nothing between --from and --to",
                      self.refused("--from", "1h", "run.wallspy", code=2))

    def test_programs_read_it(self):
        self.record("-q")
        done = self.wallspy("report", "--json", "--from", "+0.5s", "run.wallspy")
        self.assertEqual((done.code, done.stderr), (0, ""))
        document = json.loads(done.stdout)
        self.assertEqual(list(violations(document, SCHEMA)), [])
        self.assertEqual(document["window"]["from"], 0.5)
        self.assertTrue(document["threads"][0]["main"])
        self.assertGreater(document["threads"][0]["seconds"]["wall"], 1)

    def test_a_speedscope_file_says_it_too(self):
        self.record("-q", "-o", "run.json.gz")
        done = self.wallspy("report", "run.json.gz")
        self.assertEqual((done.code, done.stderr), (0, ""))
        again = self.wallspy("report", "run.wallspy").stdout
        self.assertEqual(done.stdout.partition("\n\n")[0], again.partition("\n\n")[0])
        self.assertEqual(done.stdout.splitlines()[-1], again.splitlines()[-1])
        self.assertIn("--why is for recordings",
                      self.refused("--why", "main", "run.json.gz", code=2).replace("\n", " "))
        pathlib.Path("notes").write_text("no dump\n")
        self.assertIn("notes is no recording, no dump and no speedscope file",
                      self.refused("notes", code=6).replace("\n", " "))
        self.assertIn("run.json.gz is a recording",
                      self.refused("run.json.gz", "notes", code=2))

    def test_what_cannot_be_explained_is_an_error(self):
        self.record("-q")
        for options in [["--json"], ["--why", "main"]]:
            done = call(["env", "WALLSPY_EXPLAIN=crash", programs["wallspy"], "report", *options,
                         "run.wallspy"])
            self.assertEqual((done.code, done.stdout), (1, ""))
            self.assertIn("the process that makes them failed", done.stderr.replace("\n", " "))

    def test_it_says_why(self):
        self.record("-q")
        done = self.wallspy("report", "--why", "main", "run.wallspy")
        self.assertEqual((done.code, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\Amain \d+ lived for [12]\.\d+ s: run ")
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 79)
        self.assertIn("no thread of the recording is nobody",
                      self.refused("--why", "nobody", "run.wallspy", code=2))

    def test_threads_of_it_are_chosen(self):
        self.record("-q")
        done = self.wallspy("report", "--threads", "--thread", "main", "run.wallspy")
        self.assertEqual((done.code, len(done.stdout.splitlines())), (0, 2), done.stdout)
        done = self.wallspy("report", "--thread", "main", "run.wallspy")
        self.assertIn("main", done.stdout)
        self.assertEqual(done.code, 0, done.stderr)
        for option in ["--thread", "--process"]:
            self.assertIn("wallspy report --threads run.wallspy lists",
                          self.refused(option, "no-such", "run.wallspy", code=2).replace("\n", " "))

    def test_it_says_it_in_few_lines(self):
        self.record("-q")
        done = self.wallspy("report", "--brief", "--from", "0", "run.wallspy")
        self.assertEqual((done.code, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertLessEqual(len(lines), 12)
        self.assertLessEqual(max(len(line) for line in lines), 79)
        self.assertTrue(any(line.startswith("wallspy: quality") for line in lines))

    def test_anybody_can_ask_it(self):
        before = time.time()
        self.record("-q")
        with sqlite3.connect("run.wallspy") as file:
            days, = file.execute("SELECT julianday(utc) FROM time_line").fetchone()
            self.assertTrue(before - 1 < (days - 2440587.5) * 86400 < time.time())
            (integrity,) = file.execute("PRAGMA integrity_check").fetchone()
            seconds, call_, *_ = file.execute("SELECT blocked_s, call FROM top_waits").fetchone()
        self.assertEqual(integrity, "ok")
        self.assertGreater(seconds, 1)
        self.assertTrue(call_)
        self.assertEqual([path.name for path in pathlib.Path().iterdir()], ["run.wallspy"])

    def test_it_goes_through_a_pipe(self):
        with CliTarget("plain") as target, open("piped.wallspy", "wb") as file:
            command = [programs["wallspy"], "-q", "-p", target.pid, "-d", "1", "-o", "-", "-f",
                       "wallspy"]
            done = call(["sh", "-c", '"$@" | cat > piped.wallspy', "sh", *command])
            self.assertEqual((done.code, done.stderr), (0, ""))
            del file
        self.assertIn("wallspy: quality", self.wallspy("report", "piped.wallspy").stdout)

    def test_other_files_are_one_error(self):
        self.record("-q")
        whole = pathlib.Path("run.wallspy").read_bytes()
        self.assertEqual(self.refused("none.wallspy"),
                         "wallspy: cannot read none.wallspy: No such file or directory\n")
        pathlib.Path("empty.wallspy").write_bytes(b"")
        self.assertEqual(self.refused("empty.wallspy"), "wallspy: empty.wallspy: not a recording\n")
        pathlib.Path("half").write_bytes(whole[:len(whole) // 2])
        self.assertRegex(self.refused("half"), r"\Awallspy: half: cut short: \d+ of \d+ bytes are "
                                               r"there\n\Z")
        with sqlite3.connect("other.db") as file:
            file.execute("CREATE TABLE a (b)")
        self.assertEqual(self.refused("other.db"), "wallspy: other.db: a SQLite file, but no "
                                                   "recording of wallspy's\n")
        self.assertIn("report takes one recording", self.refused("run.wallspy", "half", code=2))
        self.assertIn("wallspy report run.wallspy",
                      call([programs["wallspy"], "run.wallspy"]).stderr)

    def test_what_cannot_be_printed_is_an_error(self):
        self.record("-q")
        done = call(["sh", "-c", '"$0" report run.wallspy >/dev/full', programs["wallspy"]])
        self.assertEqual(done.code, 1)
        self.assertIn("cannot write what the recording says: No space left on device", done.stderr)


if __name__ == "__main__":
    main(__doc__, "wallspy", "target")
