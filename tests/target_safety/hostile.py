"""Targets that do what samplers do not expect.  Each goes on, rightly, and wallspy never hangs: it
ends and writes within two seconds of being asked to."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from support.cases import HarmTest
from support.outcome import main
from support.processes import state, status, wait_until
from support.programs import is_sanitized, programs
from support.targets import CountingTarget, HarmTarget
from support.wallspy import JOB, Wallspy, dump_text

# More where the machine has more to do than it can.
HANG_S = 2 * max(1, os.getloadavg()[0] / os.cpu_count())
SAMPLED_S = 1.2
OWN_PIDS = "WALLSPY_TEST_HAS_OWN_PIDS"


class Sampled(HarmTest):
    def sampled(self, target, pid=None, seconds=SAMPLED_S, **how):
        """The profile of some time of TARGET; it works on meanwhile."""
        with Wallspy(pid or target.pid, **how) as wallspy:
            before = target.counts()["done"]
            time.sleep(seconds)
            # However long it takes on a busy machine: it must go on while it is sampled.
            wait_until(lambda: target.counts()["done"] > before + 5, 20)
            asked = time.monotonic()
            profile = wallspy.stop()
            self.assertLess(time.monotonic() - asked, HANG_S)
            self.text = wallspy.text()
        return profile

    def run_kind(self, kind, *args, **how):
        with HarmTarget("hostile", kind, *args) as target:
            profile = self.sampled(target, **how)
            self.assert_unharmed(target)
            self.counts = target.finish()
        self.assertEqual(self.counts["wrong"], 0)
        return profile


class Hostile(Sampled):
    def test_exec_storm(self):
        profile = self.run_kind("exec")
        self.assertGreater(profile.facts["execs"], 10)
        self.assert_seen(profile, "compute", 0)

    def stops(self, process):
        """It does when no request is out: often not, in such a storm, but never if one is never
        answered."""
        process.send_signal(signal.SIGTSTP)
        time.sleep(0.3)
        return state(process.pid) == "T"

    def test_exec_by_other_threads(self):
        """Whose requests to stop are never answered: their tids are gone."""
        with HarmTarget("hostile", "exec_others") as target:
            with Wallspy(target.pid, prefix=JOB) as wallspy:
                target.counts()
                time.sleep(2)
                wait_until(lambda: self.stops(wallspy.process), 5 * HANG_S)
                self.assert_unharmed(target)  # nobody is left to wait for wallspy
                wallspy.process.send_signal(signal.SIGCONT)
                profile = wallspy.stop()
            self.assert_unharmed(target)
            counts = target.finish()
        self.assertEqual(counts["wrong"], 0)  # no wait after an execve was cut short
        self.assertGreater(profile.facts["execs"], 10)
        self.assertEqual(profile.facts["perturbed_calls"], 0)

    def test_an_execve_that_hangs(self):
        """Who asks its siblings to stop would wait for it."""
        with HarmTarget("hostile", "exec_slow") as target:
            with Wallspy(target.pid, "-d", "1") as wallspy:
                before = target.counts()["done"]
                begun = time.monotonic()
                profile = wallspy.ends(1 + 2 * HANG_S)
                self.assertLess(time.monotonic() - begun, 1 + HANG_S)
                self.assertGreater(target.counts()["done"], before)
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        self.assertGreater(profile.facts["execve_waits"], 0)

    def test_exec_without_randomized_addresses(self):
        """The next program has the same arguments, and its stack begins where the last one's
        did."""
        again = 'echo ready; read line && exec sh -c "$AGAIN"'
        line = ["env", "-i", f"AGAIN={again}", f"PATH={os.environ['PATH']}", "setarch", "-R", "sh",
                "-c", again]
        with CountingTarget(line) as target:
            with Wallspy(target.pid) as wallspy:
                for _ in range(12):
                    time.sleep(0.05)
                    target.say("\n")
                    self.assertEqual(target.line(), "ready")
                time.sleep(0.05)
                profile = wallspy.stop()
            self.assert_unharmed(target)
        self.assertEqual(profile.facts["execs"], 12)

    def test_exec_of_python_again_and_again(self):
        """What was known of the interpreters before is not kept."""
        if is_sanitized():
            self.skipTest("a sanitizer's memory tells nothing")
        script = ("import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\n"
                  "os.execv(sys.executable, [sys.executable, '-S', '-E', '-c', "
                  "os.environ['SCRIPT']])")
        kilobytes = []
        with CountingTarget(["env", f"SCRIPT={script}", sys.executable,
                             "-S", "-E", "-c", script]) as target:
            with Wallspy(target.pid) as wallspy:
                for _ in range(30):
                    time.sleep(0.06)
                    kilobytes.append(int(status(wallspy.process.pid, "RssAnon").split()[0]))
                    target.say("\n")
                    self.assertEqual(target.line(), "ready")
                profile = wallspy.stop()
            self.assert_unharmed(target)
        self.assertEqual(profile.facts["execs"], 30)
        self.assertLess(kilobytes[-1], kilobytes[9] + 15000, kilobytes)

    def assert_tame(self, text):
        """No control characters, nothing that is no UTF-8."""
        self.assertIsNone(re.search("[^\n\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]", text), text)

    def test_names(self):
        profile = self.run_kind("names")
        self.assert_seen(profile, "compute", 0.5)
        self.assert_tame(self.text)
        with HarmTarget("hostile", "names") as target:
            self.assert_tame(dump_text(programs["wallspy"], target.pid))

    def test_dlopen_storm(self):
        plugin = os.path.join(programs["targets"], "libplugin.so")
        profile = self.run_kind("dlopen", plugin)
        self.assert_seen(profile, "plugin_work", 0.1)

    @unittest.skipUnless(tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 11),
                         "needs PROCMAP_QUERY, Linux 6.11")
    def test_another_library_in_the_place_of_one(self):
        files = [os.path.join(programs["targets"], f"lib{name}.so")
                 for name in ("plugin", "plugin_other")]
        for _ in range(3):
            profile = self.run_kind("swap", ":".join(files))
            small, large, lost = map(profile.seconds, ("small_work", "large_work", "[truncated]"))
            with self.measurable():
                self.assertGreater(small + large, 0.5)
            # Each turn's first stacks are lost, till the mappings are read anew: on a busy machine
            # that waits for a CPU, which is chance.  What is lost for another reason is lost in
            # each run.
            if lost < 0.1 * (small + large):
                break
        with self.measurable():
            self.assertLess(lost, 0.1 * (small + large))
            self.assertLess(abs(small - large), 0.3 * (small + large), (small, large))

    @unittest.skipUnless(os.geteuid() == 0, "only root may")
    def test_setuid(self):
        self.run_kind("setuid")
        self.assertEqual(self.counts["expected"], 1)

    def test_stop_storm(self):
        with HarmTarget("hostile", "stops") as target:
            self.sampled(target)
            target.process.send_signal(signal.SIGCONT)
            self.assertEqual(target.finish()["wrong"], 0)

    def test_stack_overflow(self):
        self.run_kind("overflow")

    def test_signal_storm(self):
        self.run_kind("alarms")
        # Those of the timer that came while one was pending count as overruns.
        self.assertGreater(self.counts["done"], 0.9 * self.counts["expected"] - 1000)

    def test_seccomp(self):
        profile = self.run_kind("seccomp")
        self.assert_seen(profile, "compute", 0.2)

    def test_io_uring_workers(self):
        profile = self.run_kind("uring")
        self.assert_seen(profile, "[io_uring worker]", 1)

    def test_ten_thousand_threads(self):
        with HarmTarget("work", "blocked", 10000) as target:
            with Wallspy(target.pid, rate=10, ready=False) as wallspy:
                wait_until(wallspy.sampling, 15 * HANG_S)
                time.sleep(SAMPLED_S)
                asked = time.monotonic()
                profile = wallspy.stop()
                self.assertLess(time.monotonic() - asked, HANG_S)
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        self.assert_seen(profile, "compute", 0)

    def test_reused_ids(self):
        """OwnPids, where nobody else takes ids."""
        line = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child",
                *(() if os.geteuid() == 0 else ("--map-root-user",))]
        if subprocess.run([*line, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no pid namespace is available")
        done = subprocess.run(
            [*line, sys.executable, __file__, programs["wallspy"],
             programs["targets"], "OwnPids"], env={**os.environ, OWN_PIDS: "1"},
            stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


class OwnPids(Sampled):
    def test_tids(self):
        """Whoever got the tid of one that ended is another thread.  (A name is read some ms after
        the stacks: it may be the next one's.)"""
        with HarmTarget("hostile", "reuse") as target:
            profile = self.sampled(target)
            self.assert_unharmed(target)
            self.assertEqual(target.finish()["wrong"], 0)
        seen = [{name for name in ("even", "odd") if line.seconds_in(name)}
                for line in profile.lines if line.name.startswith(("even", "odd"))]
        self.assertTrue(seen)
        self.assertNotIn({"even", "odd"}, seen)

    def test_pid(self):
        """Another program that gets the pid is left alone, and the first one's stacks are its
        own."""
        with HarmTarget("work", "sums", 2) as first, Wallspy(first.pid) as wallspy:
            time.sleep(0.3)
            wallspy.process.send_signal(signal.SIGSTOP)
            first.process.kill()
            # A thread that wallspy holds cannot be reaped before it has let go.
            while first.process.poll() is None:
                wallspy.process.send_signal(signal.SIGCONT)
                time.sleep(0.0001)
                wallspy.process.send_signal(signal.SIGSTOP)
                time.sleep(0.01)
            pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(first.pid - 1))
            with HarmTarget("work", "deep", 20) as second:
                self.assertEqual(second.pid, first.pid)
                wallspy.process.send_signal(signal.SIGCONT)
                profile = wallspy.ends(HANG_S)
                self.assert_unharmed(second)
                self.assertEqual(second.finish()["wrong"], 0)
        self.assert_seen(profile, "compute", 0.2)
        self.assertEqual(profile.seconds("go_down"), 0)


if OWN_PIDS not in os.environ:
    del OwnPids  # test_reused_ids runs it

if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
