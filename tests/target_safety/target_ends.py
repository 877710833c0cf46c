"""Threads and programs that end while they are sampled: what is said of them is right."""
import os
import signal
import tempfile
import time

from support.cases import HarmTest
from support.outcome import main
from support.processes import wait_until
from support.programs import programs
from support.recording import Recording
from support.targets import HarmTarget
from support.wallspy import FULL_RATE, Wallspy, call


class Blocked(HarmTest):
    def test_one_stop_tells_the_stack_of_a_blocked_thread(self):
        with HarmTarget("target_ends", "blocked") as target:
            with Wallspy(target.pid, "-d", "1") as wallspy:
                profile = wallspy.ends()
            self.assert_unharmed(target)
        # One; more where the machine is so busy that it could not go back to its call at once.
        self.assertLess(profile.facts["stops"], 10)
        self.assert_seen(profile, "outer", 0.8 * profile.total())
        self.assertEqual(profile.seconds("restart_syscall"), 0)

    def test_snapshot_has_what_is_not_over(self):
        with HarmTarget("target_ends", "blocked") as target:
            with Wallspy(target.pid) as wallspy:
                time.sleep(0.8)
                wallspy.process.send_signal(signal.SIGUSR1)
                path = wallspy.output.replace(".json", ".snap1.json")
                wait_until(lambda: os.path.exists(path), what="no snapshot")
                snapshot = Recording(path)
                whole = wallspy.stop()
        self.assert_seen(snapshot, "outer", 0.5)
        for key in "stacks_made", "unwind_done", "native_frames":
            self.assertGreater(snapshot.facts[key], 0)
            self.assertLess(whole.facts[key], 2 * snapshot.facts[key])


def late_seconds(recording, name):
    """NAME's time in the second halves of all threads' time lines."""
    sum_s = 0
    for rows in recording.walls().values():
        left_s = sum(seconds for _, seconds in rows) / 2
        for stack, seconds in reversed(rows):
            part_s = min(seconds, left_s)
            left_s -= part_s
            sum_s += part_s if any(name in frame for frame in stack) else 0
    return sum_s


class Ends(HarmTest):
    def launch(self, *args):
        """Runs the target under wallspy; returns its exit code, the profile and what was said."""
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "out.json")
            ran = call([programs["wallspy"], "-r", "1000", *FULL_RATE, "-o", output, "--",
                        os.path.join(programs["targets"], "target_ends"), *args], timeout=30)
            return ran.code, Recording(output), ran.stderr

    def test_exit_code_survives_threads_that_died_while_attached(self):
        code, profile, _ = self.launch("burst", "1.5")
        self.assertEqual(code, 7)
        self.assertGreater(profile.facts["stops"], 100)

    def test_main_thread_that_ended_is_not_waiting(self):
        code, profile, said = self.launch("main-ends", "1")
        self.assertEqual(code, 0, said)
        self.assertLess(late_seconds(profile, "[page fault]"), 0.1)  # its start may have some

    def test_recording_ends_with_a_process_that_nobody_reaps(self):
        with HarmTarget("target_ends", "unreaped", "1") as target:
            with Wallspy(int(target.first)) as wallspy:
                profile = wallspy.ends(5)
        self.assertLess(profile.seconds("[page fault]"), 0.1)  # it may have had some


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
