"""Wallspy's own end while it writes, when it is asked twice, and with a debugger beside it: the
target goes on, and files are whole.  (At random instants before that:
tests/fault_injection/kills.py.)"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from support.cases import HarmTest
from support.chance import rounds
from support.outcome import main
from support.processes import wait_until
from support.targets import HarmTarget
from support.unharmed import assert_goes_on
from support.wallspy import Wallspy

OLDER = '{"older": true}'


class Ending(HarmTest):
    def setUp(self):
        super().setUp()
        self.target = HarmTarget("work", "sums", 3)
        self.addCleanup(self.target.end)

    def assert_goes_on(self):
        assert_goes_on(self.target, 20)

    def test_killed_while_it_writes(self):
        for i in range(0, 8, 8 // rounds(8)):
            with Wallspy(self.target.pid) as wallspy:
                pathlib.Path(wallspy.output).write_text(OLDER)
                wallspy.process.send_signal(signal.SIGINT)
                time.sleep(0.01 * i)
                wallspy.process.kill()
                wallspy.process.wait()
                # The older file or the whole new one, never anything between.
                self.assertTrue(json.loads(pathlib.Path(wallspy.output).read_text()))
        self.assert_goes_on()

    def test_asked_twice(self):
        """The second time drops the temporary file and leaves what was there before."""
        discarded = 0
        for _ in range(10):
            with Wallspy(self.target.pid) as wallspy:
                pathlib.Path(wallspy.output).write_text(OLDER)
                wallspy.process.send_signal(signal.SIGINT)
                wait_until(lambda: "stopping" in wallspy.text())
                wallspy.process.send_signal(signal.SIGINT)
                code = wallspy.process.wait(10)
                self.assertEqual(sorted(os.listdir(wallspy.folder.name)), ["log", "out.json"])
                text = pathlib.Path(wallspy.output).read_text()
                self.assertTrue(json.loads(text))
                self.assertEqual(code, text == OLDER, wallspy.text())
                if text == OLDER:
                    discarded += 1
                    self.assertIn("again: discard", wallspy.text())
                    self.assertIn("wallspy: discarded, as asked: nothing was written\n",
                                  wallspy.text())
        self.assertGreater(discarded, 0)
        self.assert_goes_on()

    def is_asked_twice(self, number):
        """False: this process lost its CPU between the two, so that they were two requests."""
        with Wallspy(self.target.pid) as wallspy:
            time.sleep(0.1)
            begin = time.monotonic()
            wallspy.process.send_signal(number)
            time.sleep(0.002)
            wallspy.process.send_signal(number)
            if time.monotonic() - begin > 0.015:
                wallspy.process.wait(60)
                return False
            self.assert_seen(wallspy.ends(), "compute", 0)
            self.assertEqual(sorted(os.listdir(wallspy.folder.name)), ["log", "out.json"])
            return True

    def test_asked_as_timeout_does(self):
        """It sends its signal to wallspy, and again to the group that both are in: both may be
        seen, or the first only."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.assertTrue(any(self.is_asked_twice(number) for _ in range(20)))
        self.assert_goes_on()


class Debugger(HarmTest):
    def attach_gdb(self, pid):
        """For half a second; returns gdb's pid.  It may meet a thread that wallspy just holds, as
        it may meet any other tracer: then it is tried again.  gdb 16 gives up for any thread of the
        target, older ones for its first, and leaves the target stopped."""
        for _ in range(50):
            gdb = subprocess.Popen(
                ["gdb", "-nx", "-q", "--batch", "-p", str(pid), "-ex", "shell sleep 0.5",
                 "-ex", "detach"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            output = gdb.communicate(timeout=20)[0]
            if re.search(r"^\[Inferior .* detached\]", output, re.M):
                return gdb.pid
            os.kill(pid, signal.SIGCONT)
        raise AssertionError(output)

    def test_debugger_comes_and_goes(self):
        if not shutil.which("gdb"):
            self.skipTest("no gdb")
        with HarmTarget("work", "sums", 2) as target:
            with Wallspy(target.pid) as wallspy:
                time.sleep(0.2)
                gdb_pid = self.attach_gdb(target.pid)
                time.sleep(0.5)
                profile = wallspy.stop()
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        for name, rows in profile.walls().items():
            if not name.startswith("sums"):
                continue
            traced = [i for i, (stack, _) in enumerate(rows) if f"[traced by {gdb_pid}]" in stack]
            self.assertTrue(traced, name)
            self.assertGreater(sum(rows[i][1] for i in traced), 0.2)
            after_s = sum(weight for stack, weight in rows[traced[-1]:] if "compute" in stack)
            self.assertGreater(after_s, 0.2)
            for stack, _ in rows[traced[0]:traced[-1]]:
                self.assertNotIn("[page fault]", stack)

    def test_not_dumpable_any_more(self):
        user = "nobody" if os.geteuid() == 0 else None
        with HarmTarget("work", "undumpable", as_user=user) as target:
            with Wallspy(target.pid, as_user=user) as wallspy:
                wait_until(lambda: os.stat(f"/proc/{target.pid}/status").st_uid == 0
                           or user is None)
                time.sleep(1)
                profile = wallspy.stop()
            self.assertEqual(target.finish()["wrong"], 0)
        self.assert_seen(profile, "compute", 0.2)
        self.assertGreater(profile.facts["refused"], 50)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
