"""Wallspy's own end, whichever way and whenever it comes: the target goes on, and files are
whole."""
import json
import os
import pathlib
import random
import re
import signal
import time

import harness

OLDER = '{"older": true}'


class Ending(harness.HarmTest):
    def setUp(self):
        super().setUp()
        self.target = harness.Target("work", "sums", 3)
        self.addCleanup(self.target.__exit__)

    def assert_goes_on(self):
        """Its three threads run on at once."""
        self.assert_unharmed(self.target)
        before = self.target.counts()["rounds"]
        harness.wait_until(lambda: self.target.counts()["rounds"] > before + 20,
                           what="the target stands still")
        self.assertEqual(self.target.counts()["wrong"], 0)

    def test_killed_at_any_instant(self):
        for i in range(20):
            with harness.Wallspy(self.target.pid, ready=False) as wallspy:
                pathlib.Path(wallspy.output).write_text(OLDER)
                if i % 5:  # else while it starts
                    harness.wait_until(wallspy.sampling)
                time.sleep(random.uniform(0, 0.1))
                wallspy.process.kill()
                wallspy.process.wait()
                self.assert_goes_on()
                self.assertEqual(pathlib.Path(wallspy.output).read_text(), OLDER)

    def test_asked_to_end_at_any_instant(self):
        for i in range(12):
            number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[i % 3]
            with harness.Wallspy(self.target.pid) as wallspy:
                time.sleep(random.uniform(0, 0.05))
                profile = wallspy.stop(number)
                self.assertIn("stopping, writing", wallspy.text())
                self.assert_seen(profile, "compute", 0)
                self.assertEqual(sorted(os.listdir(wallspy.folder.name)), ["log", "out.json"])
            self.assert_goes_on()

    def test_killed_while_it_writes(self):
        for i in range(8):
            with harness.Wallspy(self.target.pid) as wallspy:
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
            with harness.Wallspy(self.target.pid) as wallspy:
                pathlib.Path(wallspy.output).write_text(OLDER)
                wallspy.process.send_signal(signal.SIGINT)
                harness.wait_until(lambda: "stopping" in wallspy.text())
                wallspy.process.send_signal(signal.SIGINT)
                wallspy.process.wait(10)
                self.assertEqual(sorted(os.listdir(wallspy.folder.name)), ["log", "out.json"])
                text = pathlib.Path(wallspy.output).read_text()
                discarded += text == OLDER
                self.assertTrue(json.loads(text))
        self.assertGreater(discarded, 0)
        self.assert_goes_on()

    def test_asked_as_timeout_does(self):
        """It sends its signal to wallspy, and again to the group that both are in: both may be
        seen, or the first only."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with harness.Wallspy(self.target.pid) as wallspy:
                time.sleep(0.1)
                wallspy.process.send_signal(number)
                time.sleep(0.002)
                self.assert_seen(wallspy.stop(number), "compute", 0)
                self.assertEqual(sorted(os.listdir(wallspy.folder.name)), ["log", "out.json"])
        self.assert_goes_on()


class Debugger(harness.HarmTest):
    def attach_gdb(self, pid):
        """For half a second; returns gdb's pid.  It may meet a thread that wallspy just holds, as
        it may meet any other tracer: then it is tried again.  gdb 16 gives up for any thread of the
        target, older ones for its first, and leaves the target stopped."""
        for _ in range(50):
            gdb = harness.subprocess.Popen(
                ["gdb", "-nx", "-q", "--batch", "-p", str(pid), "-ex", "shell sleep 0.5",
                 "-ex", "detach"], stdin=harness.subprocess.DEVNULL,
                stdout=harness.subprocess.PIPE, stderr=harness.subprocess.STDOUT, text=True)
            output = gdb.communicate(timeout=20)[0]
            if re.search(r"^\[Inferior .* detached\]", output, re.M):
                return gdb.pid
            os.kill(pid, signal.SIGCONT)
        raise AssertionError(output)

    def test_debugger_comes_and_goes(self):
        if not harness.shutil.which("gdb"):
            self.skipTest("no gdb")
        with harness.Target("work", "sums", 2) as target:
            with harness.Wallspy(target.pid) as wallspy:
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
        with harness.Target("work", "undumpable", as_user=user) as target:
            with harness.Wallspy(target.pid, as_user=user) as wallspy:
                harness.wait_until(lambda: os.stat(f"/proc/{target.pid}/status").st_uid == 0
                                   or user is None)
                time.sleep(1)
                profile = wallspy.stop()
            self.assertEqual(target.finish()["wrong"], 0)
        self.assert_seen(profile, "compute", 0.2)
        self.assertGreater(profile.counts["refused"], 50)


if __name__ == "__main__":
    harness.main()
