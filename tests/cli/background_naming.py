"""Recordings of more than a quarter of a minute name code while they go on; ended in the midst of
that, they are whole too.

usage: background_naming.py WALLSPY
"""
import signal
import subprocess
import sys
import time

from support.cases import FolderTest
from support.cpu import running
from support.outcome import main
from support.programs import programs
from support.recording import Recording
from support.unharmed import assert_let_go

BUSY = """import json
while True: json.loads(json.dumps([{'a': [1.5, 'b' * 99]}] * 99), parse_float=lambda f: float(f))"""
FIRST_S = 15  # worker/naming_schedule.c


class Ahead(FolderTest):
    def record(self, name):
        """Starts a target and a recording of it."""
        context = running([sys.executable, "-c", BUSY])
        target = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        line = [programs["wallspy"], "-p", str(target.pid), "-o", name, "-r", "50", "--native"]
        recording = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recording.kill)
        return target, recording

    def expect_whole(self, name, target, recording):
        said = recording.communicate(timeout=30)[1]
        self.assertEqual(recording.returncode, 0, said)
        self.assertIsNone(target.poll())
        assert_let_go(target.pid)
        written = Recording(name)
        names = set(written.frames)
        self.assertIn("<module>", names)
        # exported: there also when stripped
        self.assertTrue(any(name.startswith("PyUnicode_") for name in names), names)
        return written.facts

    def test_while_it_goes_on(self):
        begun = time.monotonic()
        runs = {name: self.record(name) for name in ("long.json", "ended.json")}
        time.sleep(max(0, begun + FIRST_S + .15 - time.monotonic()))
        runs["ended.json"][1].send_signal(signal.SIGINT)
        self.expect_whole("ended.json", *runs["ended.json"])
        time.sleep(1.5)
        runs["long.json"][1].send_signal(signal.SIGINT)
        facts = self.expect_whole("long.json", *runs["long.json"])
        self.assertGreater(facts["frames_named_ahead"], 5)


if __name__ == "__main__":
    main(__doc__, "wallspy")
