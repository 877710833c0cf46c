"""Names in the target give no orders to a terminal, and break no file.

usage: names.py WALLSPY LIBRARY [unittest's arguments]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support.outcome import main
from support.programs import programs
from support.recording import Recording
from support.targets import Target
from support.terminal import Terminal

ORDERS = "\x1b[2J\nwallspy: done\x07\u202e\"\\"
# What wallspy itself writes to a terminal: bold and colours, and a line anew; the terminal adds the
# \\r.
OWN = re.compile(r"\x1b\[(1(;3[13])?)?m|\r\x1b\[K|\r(?=\n)")
ORDER = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffd]")


def strings(value):
    """All strings in VALUE, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        library = self.folder / os.fsdecode(b"lib" + ORDERS.encode() + b"\xff.so")
        shutil.copy(programs["library"], library)
        fifo = self.folder / ("fifo" + ORDERS)
        os.mkfifo(fifo)
        script = pathlib.Path(__file__).with_name("names_target.py")
        line = [sys.executable, script, library, fifo, ORDERS, b"\xff\xc2\x9b31m",
                "--password=" + ORDERS]
        self.target = Target(line, gently=True, env={**os.environ, "OMP_THREADS": ORDERS,
                                                     "RANK": "../" + ORDERS})
        self.addCleanup(self.target.end)
        self.assertEqual(self.target.first, str(self.target.pid))

    def run_program(self, *line):
        """Runs it on the target; returns its exit code, stdout and stderr."""
        done = subprocess.run([programs["wallspy"], *line, "-p", str(self.target.pid)],
                              cwd=self.folder, capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def run_in_terminal(self, *line):
        terminal = Terminal([programs["wallspy"], *line, "-p", str(self.target.pid)],
                            folder=self.folder)
        code, text = terminal.end()
        terminal.close()
        return code, OWN.sub("", text.decode())

    def expect_no_orders(self, text):
        self.assertIsNone(ORDER.search(text), repr(text))
        self.assertNotRegex(text, r"(?m)^wallspy: done")

    def test_dump(self):
        code, out, err = self.run_program("dump")
        self.assertEqual((code, err), (0, ""))
        self.expect_no_orders(out)
        self.assertIn("in_library?[2J?]0;owned", out)
        self.assertRegex(out, r"(?m)^\d+ \?\[31m\?wallspy\?")
        for line in out.splitlines():
            self.assertRegex(line, r"^(\d+ \S|\d+ threads? |    \S|  \d|  +\S)")
            self.assertLessEqual(len(line), 79)

    def test_dump_in_a_terminal(self):
        for line in (["dump"], ["dump", "--json"]):
            code, text = self.run_in_terminal(*line)
            self.assertEqual(code, 0)
            self.expect_no_orders(text.replace("\u202e", "") if "--json" in line else text)

    def test_dump_json(self):
        code, out, err = self.run_program("dump", "--json")
        self.assertEqual((code, err), (0, ""))
        threads = json.loads(out)["processes"][0]["threads"]
        self.assertEqual(sorted(t["name"] for t in threads),
                         ["\x1b[31m\nwallspy\\xff", "\x1bc\nrm -rf", "\x9b2J\t\"\\"])
        names = [frame["name"] for t in threads for frame in t["frames"]]
        self.assertTrue(any(ORDERS[:4] in name and "in_python" in name for name in names), names)
        self.assertTrue(any(ORDERS in frame.get("module", "") for t in threads
                            for frame in t["frames"]))

    def test_dump_as_py_spy(self):
        code, out, err = self.run_program("py-spy", "dump")
        self.assertEqual((code, err), (0, ""))
        self.expect_no_orders(out)

    def test_recording_in_a_terminal(self):
        code, text = self.run_in_terminal("record", "-d", "2", "--stats", "-o", "o.json")
        self.assertEqual(code, 0, text)
        self.expect_no_orders(text)
        self.assertIn("Ctrl-C: write", text)
        recording = Recording(self.folder / "o.json")
        self.assertTrue(any(ORDERS[:4] in s for s in strings(recording.document)))
        self.assertNotIn("owned", " ".join(p.name for p in self.folder.iterdir()))

    def test_folded(self):
        code, out, _ = self.run_program("record", "-d", "0.5", "-f", "folded", "-o", "-")
        self.assertEqual(code, 0)
        self.expect_no_orders(out)
        for line in out.splitlines():
            self.assertRegex(line, r"^.+;.+ \d+$")

    def test_names_of_files(self):
        before = set(self.folder.iterdir())
        code, _, err = self.run_program("record", "-d", "0.2")
        self.assertEqual(code, 0)
        self.expect_no_orders(err)
        (path,) = set(self.folder.iterdir()) - before
        self.assertRegex(path.name, r"^wallspy-[\w[ -]+-\d+-[\dT-]+\.json$")
        self.run_program("record", "-d", "0.2", "-o", "%q{RANK}.json")
        (path,) = set(self.folder.iterdir()) - before - {path}
        self.assertRegex(path.name, r"^_\.__\[2J_wallspy: done__\"\\\.json$")


if __name__ == "__main__":
    main(__doc__, "wallspy", "library")
