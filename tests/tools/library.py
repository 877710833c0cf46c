#!/usr/bin/env python3
"""tests/support itself: what it says of targets that fail, and how tests end.

usage: library.py
"""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from support.cases import FolderTest, HarmTest
from support.chance import rounds
from support.measure import Others
from support.processes import schedstat, state, threads, wait_until
from support.recording import Recording, read_folded
from support.targets import CountingTarget, Target, python_target, skip_if_said
from support.unharmed import assert_goes_on, assert_let_go, assert_not_held, assert_unharmed
from support.wallspy import await_text, call, succeed

HERE = pathlib.Path(__file__).resolve().parent
SLEEPER = "import time; print('ready', flush=True); time.sleep(60)"
COUNTER = """
import os
rounds = 0
def answer():
    global rounds
    rounds += 5
    print(f"rounds={rounds} wrong=WRONG", flush=True)
answer()
while os.read(0, 1):
    answer()
answer()
"""
SPEEDSCOPE = """{"wallspy": {"rate_hz": 100, "threads": [{"name": "main"}]},
"shared": {"frames": [{"name": "main"}, {"name": "work"}]},
"profiles": [{"name": "main 7 | wall", "unit": "milliseconds", "samples": [[0], [], [0, 1]],
              "weights": [10, 20, 30]},
             {"name": "ALL active | wall", "unit": "seconds", "samples": [[0]], "weights": [1]}]}
"""
ENDS = """
import sys, unittest
from support.outcome import Skipped, end_with, main
class Some(unittest.TestCase):
    def test_this(self):
        PASS
def skipped():
    raise Skipped("no luck")
"""


class Rounds(unittest.TestCase):
    def rounds(self, how, whole):
        with unittest.mock.patch.dict(os.environ, {"WALLSPY_ROUNDS": how}):
            return rounds(whole)

    def test_a_third_of_them_but_one_at_least(self):
        self.assertEqual([self.rounds("gate", n) for n in (1, 3, 7, 30)], [1, 1, 3, 10])
        self.assertEqual([self.rounds(how, 7) for how in ("", "all")], [7, 7])
        with self.assertRaises(AssertionError):
            self.rounds("some", 7)


class Measurable(unittest.TestCase):
    """What a test of harm does where wallspy saw too little."""

    def look(self, used):
        """How the test ends if others used so many CPUs, and whether it went on."""
        went_on = []

        class Some(HarmTest):
            def test_it(self):
                self.others = Others()
                self.others.before, self.others.cpus = (0, 0, 0), {0, 1}
                self.others.clocks = lambda: (10, 10 * used, 0)
                with self.measurable():
                    self.assertEqual(1, 2)
                went_on.append(True)

        result = unittest.TestResult()
        Some("test_it").run(result)
        return len(result.failures), [reason for _, reason in result.skipped], went_on

    def test_it_goes_on_and_is_a_skip_if_others_took_the_cpus(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(self.look(1.3),
                             (0, ["not measurable here: others used 1.3 of 2 CPUs"], [True]))
            self.assertEqual(self.look(0.1), (1, [], []))


class Targets(unittest.TestCase):
    def test_a_target_that_is_not_ready(self):
        with self.assertRaisesRegex(AssertionError, "says 'not yet'"):
            python_target("print('not yet')")
        with self.assertRaisesRegex(AssertionError, "says ''"):
            python_target("pass")

    def test_a_target_that_says_nothing(self):
        with Target(["sh", "-c", "echo one; exec sleep 60"]) as target:
            with self.assertRaisesRegex(AssertionError, "says nothing"):
                target.line(0.05)
        self.assertLess(target.process.returncode, 0)

    def test_no_line_is_lost(self):
        with Target(["sh", "-c", "printf 'one\\ntwo\\nthree\\nfour'"]) as target:
            self.assertEqual((target.first, target.line(), target.rest()),
                             ("one", "two", "three\nfour"))

    def test_a_target_that_fails(self):
        with Target(["sh", "-c", "echo one; exit 3"]) as target:
            with self.assertRaisesRegex(AssertionError, "exit 3"):
                target.rest()

    def test_gently(self):
        with Target(["sh", "-c", "echo ready; read line; exit 5"], "ready", gently=True) as target:
            pass
        self.assertEqual(target.process.returncode, 5)

    def test_what_cannot_be_done_here_is_skipped(self):
        with self.assertRaisesRegex(unittest.SkipTest, "FUSE is not available here"):
            skip_if_said("skip: FUSE is not available here")
        skip_if_said("done=0")


class Unharmed(unittest.TestCase):
    def test_a_target_that_goes_on(self):
        with CountingTarget([sys.executable, "-c", COUNTER.replace("WRONG", "0")]) as target:
            assert_goes_on(target)
            assert_goes_on(target)
            self.assertGreater(target.finish()["rounds"], 30)
            with self.assertRaisesRegex(AssertionError, "the target ended"):
                assert_unharmed(target)

    def test_a_target_that_computes_wrongly(self):
        with CountingTarget([sys.executable, "-c", COUNTER.replace("WRONG", "1")]) as target:
            with self.assertRaisesRegex(AssertionError, "'wrong': 1"):
                assert_goes_on(target)

    def test_a_target_that_is_stopped(self):
        with python_target(SLEEPER) as target:
            assert_let_go(target.pid)
            os.kill(target.pid, 19)  # SIGSTOP
            wait_until(lambda: state(target.pid) == "T")
            assert_not_held(target.pid)
            with self.assertRaisesRegex(AssertionError, "is stopped"):
                assert_unharmed(target)

    def test_a_target_that_is_traced(self):
        tracer = ("import ctypes, os, sys, time; libc = ctypes.CDLL(None);\n"
                  "libc.ptrace.argtypes = [ctypes.c_long] * 4\n"
                  "print(libc.ptrace(0x4206, int(sys.argv[1]), 0, 0), flush=True); time.sleep(60)")
        with python_target(SLEEPER) as target:
            with Target([sys.executable, "-c", tracer, target.pid]) as other:
                if other.first != "0":
                    self.skipTest("not permitted to trace")
                with self.assertRaisesRegex(AssertionError, f"traced by {other.pid}"):
                    assert_unharmed(target)
            wait_until(lambda: call(["grep", "-q", "TracerPid:\t0", f"/proc/{target.pid}/status"]
                                    ).code == 0)
            assert_unharmed(target)

    def test_one_that_has_ended(self):
        assert_not_held(subprocess.run(["sh", "-c", "echo $$"], check=True, stdout=subprocess.PIPE,
                                       text=True).stdout.strip())


class Waiting(unittest.TestCase):
    def test_what_never_comes(self):
        with self.assertRaisesRegex(AssertionError, "no such luck"):
            wait_until(lambda: False, 0.02, "no such luck")

    def test_a_line_that_never_comes(self):
        with subprocess.Popen(["printf", "one\ntwo\n"], stdout=subprocess.PIPE,
                              text=True) as process:
            self.assertEqual(await_text(process.stdout, "on"), "one\n")
            with self.assertRaisesRegex(AssertionError, "no 'three' in: two"):
                await_text(process.stdout, "three")

    def test_commands(self):
        self.assertEqual(call(["sh", "-c", "echo $WORD; exit 3"], environment={"WORD": "x"})[:2],
                         (3, "x\n"))
        with self.assertRaisesRegex(AssertionError, "exit 1: no"):
            succeed(["sh", "-c", "echo no >&2; exit 1"])

    def test_processes(self):
        begun = time.monotonic()
        self.assertIn(os.getpid(), threads(os.getpid()))
        self.assertLess(0, schedstat(os.getpid()).runs)
        self.assertLess(time.monotonic() - begun, 5)


class Recordings(FolderTest):
    def test_speedscope(self):
        pathlib.Path("o.json").write_text(SPEEDSCOPE)
        recording = Recording("o.json")
        line = recording.line("main")
        self.assertAlmostEqual(line.seconds(), 0.06)
        self.assertAlmostEqual(line.seconds_in("work"), 0.03)
        self.assertAlmostEqual(line.missed({"main"}), 0.02)
        self.assertAlmostEqual(recording.seconds("wor"), 0.03)
        self.assertAlmostEqual(recording.total(), 0.06)
        self.assertAlmostEqual(recording.profile("ALL active | wall").seconds(), 1)
        self.assertEqual((recording.frames, recording.interval_s), (["main", "work"], 0.01))

    def test_folded(self):
        pathlib.Path("o.folded").write_text("main 7;work of it 30\nmain 7 10\n")
        self.assertEqual(read_folded("o.folded"), [(["main 7", "work of it"], 30),
                                                   (["main 7"], 10)])


class Ends(unittest.TestCase):
    def end(self, last_line, *args, body="pass"):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(HERE / "support", pathlib.Path(folder, "support"))
            script = pathlib.Path(folder, "script.py")
            script.write_text(ENDS.replace("PASS", body) + last_line)
            return call([sys.executable, script, *args])

    def test_scripts(self):
        for last_line, code in (("end_with(lambda: True)", 0), ("end_with(lambda: None)", 0),
                                ("end_with(lambda: False)", 1), ("end_with(lambda: 0)", 1),
                                ("end_with(skipped)", 77)):
            self.assertEqual(self.end(last_line).code, code, last_line)
        self.assertEqual(self.end("end_with(skipped)").stdout, "skipped: no luck\n")

    def test_unittest(self):
        line = "main('What it shows.', 'wallspy')"
        for body, code in (("pass", 0), ("assert False", 1), ("self.skipTest('none here')", 77)):
            ran = self.end(line, "/bin/true", body=body)
            self.assertEqual(ran.code, code, body)
            self.assertRegex(ran.stdout, r"^WALLSPY_SEED=\d+\n")
        self.assertTrue(ran.stdout.endswith("skipped: none here\n"), ran.stdout)
        ran = self.end(line)
        self.assertEqual(ran.code, 1)
        self.assertIn("WALLSPY [unittest's arguments]", ran.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
