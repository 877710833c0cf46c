"""A recording that runs is steered: asked how it is, marked, paused, stopped."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from support.outcome import main
from support.processes import wait_until
from support.programs import AS_USER, programs
from support.schema import keys, violations
from support.targets import python_target
from support.unharmed import assert_let_go, assert_unharmed
from support.wallspy import Wallspy, call

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
SCHEMA = json.loads((DOCS / "status-1.schema.json").read_text())
# Says how far a thread that spins has come, and starts one more thread for each line.
SPINS = """if True:
    import sys, threading
    rounds = 0
    def spin():
        global rounds
        while True:
            rounds += 1
    threading.Thread(target=spin, name="spin", daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        thread = threading.Thread(target=lambda: print(rounds, flush=True))
        thread.start()
        thread.join()
"""
ASKS = """if True:
    import socket, sys
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    print(s.recv(1000).decode(), end="")
"""


class Ctl(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.sockets = pathlib.Path(folder.name, "sockets")
        self.environment = {"WALLSPY_CTL_DIR": str(self.sockets)}

    def target(self):
        target = python_target(SPINS)
        self.addCleanup(target.end)
        return target

    def recorded(self, target, *args):
        """wallspy, which records TARGET, and can be asked."""
        wallspy = Wallspy(target.pid, *args, rate=100, environment=self.environment)
        self.addCleanup(wallspy.__exit__)
        self.assertTrue(self.socket_of(wallspy).is_socket())
        return wallspy

    def socket_of(self, wallspy):
        return self.sockets / f"{wallspy.process.pid}.sock"

    def ctl(self, *words, code=0):
        """What `wallspy ctl` prints: to stdout, or to stderr if it is to exit with another code."""
        ran = call([programs["wallspy"], "ctl", *words], environment=self.environment)
        self.assertEqual(ran.code, code, f"{words}: {ran.stdout}{ran.stderr}")
        return " ".join(ran.stderr.split()) if code else ran.stdout

    def status(self, target):
        said = json.loads(self.ctl(target.pid, "status", "--json"))
        self.assertEqual(list(violations(said, SCHEMA)), [])
        return said

    def asked(self, wallspy, sent, end=True):
        """All that the recording says to the bytes SENT."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(self.socket_of(wallspy)))
            client.sendall(sent)
            if end:
                client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(1 << 16), b"")).decode()

    # ---- what it does ----

    def test_it_tells_and_marks_and_goes_on(self):
        target = self.target()
        wallspy = self.recorded(target)
        before = self.status(target)
        self.assertEqual((before["schema"], before["pid"]), ("status/1", wallspy.process.pid))
        self.assertEqual(before["targets"][0]["pid"], target.pid)
        self.assertEqual((before["threads"], before["paused"], before["marks"]), (2, False, 0))
        self.assertEqual([each["path"] for each in before["outputs"]], [wallspy.output])
        self.assertEqual(self.ctl("mark", "step", "2: \u00fc"), "")
        self.assertIn("a mark is 1 to 200 bytes", self.ctl("mark", "x" * 201, code=2))
        self.assertIn("a mark is 1 to 200 bytes", self.ctl(target.pid, "mark", "\033[31m", code=2))
        snapshot, = self.ctl(wallspy.process.pid, "snapshot").split()
        self.assertEqual(snapshot, wallspy.output.replace(".json", ".snap1.json"))
        marks = json.loads(pathlib.Path(snapshot).read_text())["wallspy"]["marks"]
        self.assertEqual([mark["text"] for mark in marks], ["step 2: \u00fc"])
        wait_until(lambda: self.status(target)["ticks"] > before["ticks"], what="no more ticks")
        text = self.ctl("status")
        self.assertRegex(text, rf"(?m)^target: {target.pid} \(python")
        self.assertRegex(text, r"(?m)^marks: 1$")
        self.assertRegex(text, r"(?m)^snapshots: 1, the last one .* ago$")
        self.assertEqual(self.ctl("stop"), wallspy.output + "\n")
        wallspy.ends()
        self.assertIn("step 2: \u00fc", wallspy.text())
        self.assertIn("no recording of yours runs", self.ctl("stop", code=4))
        assert_unharmed(target)

    def test_nothing_is_sampled_in_a_pause(self):
        target = self.target()
        kept = os.path.join(os.path.dirname(self.sockets), "run.wallspy")
        begun = time.monotonic()
        wallspy = self.recorded(target, "-o", kept)
        self.assertIn("it is not paused", self.ctl("resume", code=1))
        self.ctl("pause")
        begun_pause = time.monotonic()
        ticks = self.status(target)["ticks"]
        rounds = []
        for _ in range(5):  # the target's own count goes on, and so do threads that begin now
            target.say("\n")
            rounds.append(int(target.line()))
            assert_let_go(target.pid)
            time.sleep(0.1)
        self.assertGreater(rounds[-1], rounds[0])
        self.assertIn("it is paused already", self.ctl("pause", code=1))
        self.ctl("mark", "in the pause")
        self.ctl("snapshot")  # which forks, and names what is new
        status = self.status(target)
        self.assertEqual((status["ticks"], status["paused"]), (ticks, True))
        paused_s = time.monotonic() - begun_pause
        self.assertRegex(self.ctl("resume"), r"^paused for [\d.]+ s\n$")
        wait_until(lambda: self.status(target)["ticks"] > ticks, what="no more ticks")
        self.assertEqual(self.ctl("stop"), f"{wallspy.output}\n{kept}\n")
        block = wallspy.ends().facts
        self.assertGreaterEqual(block["paused_s"], paused_s)
        self.assertGreaterEqual(block["pauses"][0]["paused_ns"] / 1e9, paused_s)
        self.assertEqual(block["marks"][0]["at_ns"], block["pauses"][0]["at_ns"])
        longest_s = time.monotonic() - begun - block["paused_s"]
        for thread in block["threads"]:
            lived_s = (thread["end_ns"] - thread["start_ns"]) / 1e9
            self.assertLess(lived_s, longest_s, thread)
            self.assertLess(thread["run_ns"] / 1e9, lived_s + 0.1, thread)
        self.assertIn("paused for", wallspy.text())
        self.assertNotIn("cpu_check", block)  # the processes' own clocks ran on
        self.assertLess(block["host_cpu"]["over_ns"] / 1e9, longest_s)
        again = call([programs["wallspy"], "report", kept])
        self.assertIn("in the pause", again.stdout)
        assert_unharmed(target)

    def test_a_target_may_end_in_a_pause(self):
        target = self.target()
        wallspy = self.recorded(target)
        self.ctl("pause")
        target.kill()
        self.assertIn("pauses", wallspy.ends().facts)

    def test_a_launched_command_goes_on_after_a_stop(self):
        output = os.path.join(os.path.dirname(self.sockets), "out.json")
        line = [programs["wallspy"], "-q", "-o", output, "--", sys.executable, "-c",
                "import sys; print(sys.stdin.readline()); sys.exit(7)"]
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=dict(os.environ, **self.environment)) as wallspy:
            wait_until(lambda: self.sockets.is_dir() and list(self.sockets.glob("*.sock")),
                       what="no socket")
            wait_until(lambda: json.loads(self.ctl("status", "--json"))["ticks"] > 5,
                       what="no ticks")
            self.assertEqual(self.ctl("stop"), output + "\n")
            self.assertIsNone(wallspy.poll())
            self.assertEqual(wallspy.communicate(b"on\n")[0], b"on\n\n")
            self.assertEqual(wallspy.returncode, 7)

    def test_the_page_has_each_key(self):
        page = (DOCS / "ctl.md").read_text()
        self.assertEqual([key for key in keys(SCHEMA) if f"`{key}`" not in page], [])

    # ---- who is meant ----

    def test_with_several_one_must_be_named(self):
        targets = [self.target() for _ in range(2)]
        first, second = [self.recorded(target) for target in targets]
        listed = self.ctl().splitlines()
        self.assertEqual(len(listed), 2)
        for target, wallspy in zip(targets, (first, second)):
            self.assertRegex("\n".join(listed),
                             rf"(?m)^{target.pid} \(.*by wallspy {wallspy.process.pid}$")
        said = self.ctl("stop", code=2)
        self.assertIn("several recordings run", said)
        self.assertTrue(all(f"{target.pid} (" in said for target in targets), said)
        said = self.ctl(os.getpid(), "stop", code=4)
        self.assertIn(f"no recording of {os.getpid()} runs. These do:", said)
        self.ctl(targets[0].pid, "stop")
        first.ends()
        self.assertEqual(self.status(targets[1])["pid"], second.process.pid)
        second.process.kill()  # which leaves its socket
        second.process.wait()
        self.assertTrue(self.socket_of(second).is_socket())
        self.assertEqual(self.ctl(), "")
        self.assertEqual(list(self.sockets.iterdir()), [])
        for target in targets:
            assert_unharmed(target)

    def test_others_are_refused(self):
        target = self.target()
        wallspy = self.recorded(target)
        self.assertIn("not one of status", self.ctl("now", code=2))
        self.assertRegex(self.asked(wallspy, b"now\n"), "^error: not one of status")
        self.assertEqual(self.asked(wallspy, b"mark from a script"), "ok\n")
        self.assertRegex(self.asked(wallspy, b"x" * 4096), "^error: a line of more than")
        begun = time.monotonic()
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(str(self.socket_of(wallspy)))
            before = self.status(target)["ticks"]
            self.assertEqual(self.asked(wallspy, b"", end=False), "")
            self.assertGreaterEqual(time.monotonic() - begun, 0.9)
            self.assertGreater(self.status(target)["ticks"], before)
        if AS_USER:
            self.sockets.chmod(0o711)
            self.socket_of(wallspy).chmod(0o777)
            ran = call([*AS_USER, sys.executable, "-c", ASKS, self.socket_of(wallspy)])
            self.assertEqual(ran.stdout, "error: this recording is another user's\n", ran.stderr)
        wallspy.stop()
        assert_unharmed(target)

    def test_without_a_folder_of_its_own_it_records(self):
        self.sockets.mkdir(mode=0o755)
        self.sockets.chmod(0o755)
        target = self.target()
        for options, said in ((), False), (("-v",), True):
            with Wallspy(target.pid, *options, rate=100,
                         environment=self.environment) as wallspy:
                self.assertEqual(list(self.sockets.iterdir()), [])
                wallspy.stop(signal.SIGINT)
                text = " ".join(wallspy.text().split())
                self.assertEqual("it has to have mode 700" in text, said, text)
        self.assertEqual(self.ctl(), "")
        assert_unharmed(target)


if __name__ == "__main__":
    main(__doc__, "wallspy")
