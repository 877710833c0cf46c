"""Recordings of more than a quarter of a minute name code while they go on; ended in the midst of
that, they are whole too.

usage: background_naming.py PROGRAM
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUSY = """import json
while True: json.loads(json.dumps([{'a': [1.5, 'b' * 99]}] * 99), parse_float=lambda f: float(f))"""
FIRST_S = 15  # worker/naming_schedule.c


class Ahead(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def record(self, name):
        """Starts a target and a recording of it."""
        target = subprocess.Popen([sys.executable, "-c", BUSY])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        line = [program, "-p", str(target.pid), "-o", self.folder / name, "-r", "50", "--native"]
        recording = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recording.kill)
        return target, recording

    def expect_whole(self, name, target, recording):
        said = recording.communicate(timeout=30)[1]
        self.assertEqual(recording.returncode, 0, said)
        self.assertIsNone(target.poll())
        status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
        self.assertRegex(status, r"(?m)^State:\s+[RSD] ")
        self.assertRegex(status, r"(?m)^TracerPid:\s+0$")
        written = json.loads((self.folder / name).read_text())
        names = {frame["name"] for frame in written["shared"]["frames"]}
        self.assertIn("<module>", names)
        # exported: there also when stripped
        self.assertTrue(any(name.startswith("PyUnicode_") for name in names), names)
        return written["wallspy"]

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
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = sys.argv.pop(1)
    unittest.main(verbosity=2)
