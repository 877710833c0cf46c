"""wallspy killed, asked to end in each way, and stopped for a second, at random instants from its
start on, while the target computes: right results, no pause longer than that second, and files that
are whole.

usage: kills.py WALLSPY TARGETS [unittest's arguments]
"""
import os
import pathlib
import random
import signal
import time
import unittest

import trial
from support.chance import SEED, rounds
from support.outcome import main
from support.processes import status, wait_until
from support.recording import Recording
from support.targets import HarmTarget
from support.wallspy import Wallspy

STOPPED_S = 1
SOME_TICKS = 10  # until then a busy machine may have shown no thread that computes


def noise_s():
    """How long a thread may wait for a CPU."""
    return 0.2 * max(1, 2 * os.getloadavg()[0] / os.cpu_count())


def catches(pid, number):
    """Has it got so far as to handle the signal?"""
    return int(status(pid, "SigCgt"), 16) >> (number - 1) & 1


class Killer(trial.Trials):
    """Signals to wallspy on one target; counts what came of them."""

    def __init__(self, target, source):
        super().__init__(target)
        self.random = source
        self.stopped_s = 0  # the longest time for which wallspy was stopped
        self.beyond_s = 0  # by how much the target's longest pause was longer, at most
        self.figures = {"SIGKILL": 0, "SIGTERM": 0, "SIGINT": 0, "SIGHUP": 0, "SIGSTOP": 0,
                        "files written": 0, "before the first sample": 0}

    def begin(self):
        """wallspy, some time after its start."""
        wallspy = Wallspy(self.target.pid, ready=False, older=trial.OLDER)
        time.sleep(self.random.uniform(0, 0.25))
        return wallspy

    def kill(self, wallspy):
        wallspy.process.kill()
        wallspy.process.wait()
        self.check.assertEqual(pathlib.Path(wallspy.output).read_text(), trial.OLDER,
                               "output of a killed run")

    def ask(self, wallspy, number):
        """Once it handles the signal, that leaves a whole file, unless nothing was sampled yet."""
        wait_until(lambda: catches(wallspy.process.pid, number), what="handles no signals")
        wallspy.process.send_signal(number)
        code = trial.await_end(wallspy.process)
        self.check.assertIn(code, (0, 6), wallspy.text())
        trial.output_of(wallspy.output, must_exist=code == 0)
        if code == 0:
            self.judge(Recording(wallspy.output), wallspy.text())
        self.check.assertEqual(trial.leftovers(wallspy.folder.name, "log", "out.json"), [])
        self.figures["before the first sample" if code else "files written"] += 1

    def judge(self, recording, said):
        if recording.facts["ticks"] >= SOME_TICKS:
            self.check.assertIn("stopping, writing", said)
            self.check.assertGreater(recording.seconds("compute"), 0, recording)

    def pause(self, wallspy):
        longest_s = self.longest_pause_s()
        begin = time.monotonic()
        wallspy.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        wallspy.process.send_signal(signal.SIGCONT)
        stopped_s = time.monotonic() - begin
        self.stopped_s = max(self.stopped_s, stopped_s)
        self.ask(wallspy, signal.SIGINT)
        self.assert_goes_on()
        if self.longest_pause_s() > longest_s:
            self.beyond_s = max(self.beyond_s, self.longest_pause_s() - stopped_s)

    def trial(self, number):
        name = signal.Signals(number).name
        with self.begin() as wallspy:
            if number == signal.SIGKILL:
                self.kill(wallspy)
            elif number == signal.SIGSTOP:
                self.pause(wallspy)
            else:
                self.ask(wallspy, number)
            try:
                self.assert_goes_on()
                self.check.assertLess(self.longest_pause_s(), noise_s() + self.stopped_s, "paused")
            except AssertionError as error:
                raise trial.Failure(f"{name}: {error}\n{wallspy.text()}") from error
        self.figures[name] += 1


class Kills(unittest.TestCase):
    def run_some(self, number, n):
        with HarmTarget("work", "sums", 3) as target:
            killer = Killer(target, random.Random(SEED))
            for _ in range(rounds(n)):
                killer.trial(number)
            print(killer.figures, f"longest pause {killer.longest_pause_s():.3f} s, "
                  f"{killer.beyond_s * 1000:.1f} ms more than wallspy's")
            self.assertEqual(target.finish()["wrong"], 0)

    def test_killed(self):
        self.run_some(signal.SIGKILL, 20)

    def test_asked_to_end(self):
        self.run_some(signal.SIGTERM, 6)

    def test_hung_up(self):
        self.run_some(signal.SIGHUP, 6)

    def test_interrupted(self):
        self.run_some(signal.SIGINT, 8)

    def test_stopped(self):
        self.run_some(signal.SIGSTOP, 3)


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
