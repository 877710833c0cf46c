"""What of a program is recorded and shown: which processes, which threads, in which states, in
which files.

usage: thread_selection.py WALLSPY DENY TARGET [unittest's arguments]
"""
import json
import os
import re
import signal
import subprocess
import time

from support.cases import FolderTest
from support.outcome import main
from support.processes import state, wait_until
from support.programs import programs
from support.recording import Recording
from support.targets import CliTarget, python_target
from support.wallspy import Wallspy, run

WAITERS = 12
SEEN_S = 1  # so long each name is seen
WAITING = f"""
import threading
event = threading.Event()
for _ in range({WAITERS}):
    threading.Thread(target=event.wait, daemon=True).start()
print("ready", flush=True)
input()
"""
# A thread whose name is another one every half second.
RENAMED = """
import threading, time
def work():
    while True:
        for name in "before", "wanted":
            with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as comm:
                comm.write(name)
            time.sleep(0.5)
threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
input()
"""

# A thread that sleeps, and has the name that each line of its stdin says.
RENAMED_ASLEEP = """
import threading, time
thread = threading.Thread(target=time.sleep, args=(100,), daemon=True)
thread.start()
def give_name(name):
    with open(f"/proc/self/task/{thread.native_id}/comm", "w") as comm:
        comm.write(name)
give_name("wanted")
print("ready", flush=True)
while True:
    give_name(input())
"""

NAMED_BADLY = """
import threading, time
def work():
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as comm:
        comm.write("a\\nwallspy: ok")
    print("ready", flush=True)
    time.sleep(100)
threading.Thread(target=work, daemon=True).start()
input()
"""

# One of many threads, which gets its name when all have been looked at.
RENAMED_LATE = """
import threading, time
named = threading.Event()
def work(last):
    named.wait()
    if last:
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as comm:
            comm.write("wanted")
    while True:
        time.sleep(0.5)
for i in range(60):
    threading.Thread(target=work, args=(i == 59,), daemon=True).start()
print("ready", flush=True)
input()
named.set()
input()
"""


def dumped(pid, *options):
    """The exit code of a dump of PID, and its threads by tid."""
    code, out, _, _ = run("dump", "--now", "--json", "-p", pid, *options, user=False)
    return code, {thread["tid"]: thread for process in json.loads(out)["processes"]
                  for thread in process["threads"]}


class Chosen(FolderTest):
    def test_a_file_for_each_process(self):
        with CliTarget("plain", user=False) as one, CliTarget("plain", user=False) as two:
            code, _, text, _ = run("-p", f"{one.pid},{two.pid}", "-d", "0.3", "-o", "all.json",
                                   "-o", "%p.json", user=False)
            self.assertEqual(code, 0, text)
            self.assertIn("sampling 2 processes", text)
            for path, wanted in (("all.json", {one.pid, two.pid}), (f"{one.pid}.json", {one.pid}),
                                 (f"{two.pid}.json", {two.pid})):
                threads = Recording(path).facts["threads"]
                self.assertEqual({thread["pid"] for thread in threads}, wanted, path)

    def test_one_of_two_ends(self):
        with CliTarget("plain", user=False) as lives:
            ends = subprocess.Popen(["sleep", "0.6"])
            code, _, text, _ = run("-p", f"{lives.pid},{ends.pid}", "-d", "1.5", "-o", "o.json",
                                   user=False)
            ends.wait()
            self.assertEqual(code, 0, text)
        main = {thread["pid"]: thread for thread in Recording("o.json").facts["threads"]
                if thread["main"]}
        self.assertEqual([main[pid]["ended"] for pid in (lives.pid, ends.pid)], [False, True])
        self.assertGreater(main[lives.pid]["end_ns"], 1.4e9)
        self.assertLess(main[ends.pid]["end_ns"], 1.4e9)

    def test_of_a_dump(self):
        with CliTarget("plain") as target:
            main, second = [target.pid], [target.tid]
            for word, wanted in (("main", main), ("sec*", second), (target.tid, second),
                                 ("python", []),
                                 ("native", main + second), ("nobody,main", main), ("nobody", [])):
                code, threads = dumped(target.pid, "--thread", word)
                self.assertEqual((code, list(threads)), (0 if wanted else 6, wanted), word)

    def test_threads_of_python(self):
        with python_target(WAITING) as target:
            code, threads = dumped(target.pid, "--thread", "python")
            self.assertEqual((code, len(threads)), (0, WAITERS + 1))
            self.assertEqual(dumped(target.pid, "--thread", "native"), (6, {}))

    def test_a_thread_that_is_named_anew(self):
        with python_target(RENAMED) as target:
            code, _, text, _ = run("-p", target.pid, "--thread", "wanted", "-d", "2.2",
                                   "-o", "o.json", user=False)
            self.assertEqual(code, 0, text)
            threads = Recording("o.json").facts["threads"]
        seen_ns = [thread["end_ns"] - thread["start_ns"] for thread in threads]
        self.assertGreaterEqual(len(seen_ns), 2, threads)  # each time it is another one
        self.assertLess(sum(seen_ns), 1.9e9, threads)

    def test_a_name_forges_no_line(self):
        with python_target(NAMED_BADLY) as target:
            tid = max(map(int, os.listdir(f"/proc/{target.pid}/task")))
            _, _, text, lines = run("-p", tid, "-d", "0.2", "-o", "o.json", user=False)
        self.assertTrue(
            text.startswith(f"wallspy: {tid} is thread a?wallspy: ok of {target.pid}: "), text)
        self.assertNotIn("wallspy: ok", [line[:11] for line in lines.splitlines()])

    def test_none_fits_and_all_end(self):
        code, _, text, _ = run("--thread", "nobody", "-o", "o.json", "--", "sleep", "0.5",
                               user=False)
        self.assertEqual(code, 0)
        self.assertIn("no thread matched --thread", text)

    def test_a_sleeping_thread_that_has_its_name_again(self):
        with python_target(RENAMED_ASLEEP) as target:
            with Wallspy(target.pid, "--thread", "wanted", rate=100) as wallspy:
                for name in "other", "wanted":
                    time.sleep(SEEN_S)
                    target.say(f"{name}\n")
                time.sleep(1.5)
                threads = wallspy.stop().facts["threads"]
        self.assertEqual(len(threads), 2, threads)
        self.assertGreater(threads[1]["end_ns"] - threads[1]["start_ns"], 1.2e9, threads)

    def test_names_that_python_gives_are_known_before_the_start(self):
        with python_target(WAITING) as target:
            line = ["-p", target.pid, "-d", "0.3", "-o", "o.json", "--thread"]
            code, _, text, _ = run(*line, "Thread-3*", user=False)
            self.assertEqual((code, "matches" in text), (0, False), text)
            code, _, text, _ = run(*line, "thrd*,12", user=False)
            self.assertIn(
                "warning: no thread matches --thread thrd*,12 yet; this process has: main, "
                f"{WAITERS} x Thread-* (wait)", text)

    def test_one_of_many_that_is_named_late(self):
        """At a rate at which there is little time to look at names."""
        with python_target(RENAMED_LATE) as target:
            with Wallspy(target.pid, "--thread", "wanted") as wallspy:
                time.sleep(SEEN_S)
                target.say("\n")
                time.sleep(3.5)
                threads = wallspy.stop().facts["threads"]
            self.assertEqual([t["name"] for t in threads], ["wanted"])

    def test_more_threads_than_can_be_frozen(self):
        """In 5 ms; the others are read where they sleep."""
        with python_target(WAITING.replace("range(", "range(300 + ")) as target:
            code, threads = dumped(target.pid, "--freeze")
        self.assertEqual(code, 0)
        self.assertGreater(len(threads), 300)
        self.assertEqual([t for t in threads.values() if not t["frames"]], [])

    def test_nobody_holds_the_gil(self):
        with python_target(WAITING) as target:
            code, _, text, _ = run("-p", target.pid, "--gil", "-d", "0.5", "-o", "o.json",
                                   user=False)
            self.assertEqual(code, 6, text)
            self.assertIn("no thread held the GIL when it was looked at", text)

    def test_what_is_for_python_only(self):
        with CliTarget("plain", user=False) as t:
            code, _, text, _ = run("-p", t.pid, "--gil", "-d", "0.3", "-o", "o.json", user=False)
            self.assertEqual((code, "no CPython was found, so there is no GIL" in text), (6, True),
                             text)
            code, _, text, _ = run("-q", "-p", t.pid, "--native=off", "-d", "0.3", "-o", "o.json",
                                   user=False)
            self.assertEqual((code, "leave out --native=off" in text), (0, True), text)

    def test_quiet_statistics(self):
        """Whoever asks for them wants them."""
        with CliTarget("plain", user=False) as t:
            code, _, text, _ = run("-q", "--stats", "-p", t.pid, "-d", "0.3", "-o", "o.json",
                                   user=False)
        self.assertEqual(code, 0)
        self.assertRegex(text, r" ticks [0-9]+ ")
        self.assertRegex(text, r" rate_asked_hz 100 Hz ")
        self.assertRegex(text, r" seen_share [0-9.]+ % ")
        self.assertRegex(text, r" held_p50_ns [0-9]+ ns ")
        self.assertRegex(text, r" stolen_s [0-9.e-]+ s ")
        self.assertNotIn("wallspy:", text)

    def test_many_threads_that_do_the_same(self):
        with python_target(WAITING) as target:
            code, out, _, _ = run("dump", "-p", target.pid, user=False)
        self.assertEqual(code, 0)
        (many,) = re.findall(r"^(\d+ x .*|\d+ threads .*)\n  (.*)$", out, re.M)
        self.assertRegex(many[0], rf"^{WAITERS} (x|threads) ")
        self.assertRegex(many[1], r"^\d+")

    def test_a_stopped_process(self):
        with CliTarget("plain", user=False) as target:
            os.kill(target.pid, signal.SIGSTOP)
            try:
                self.expect_stopped(target.pid)
            finally:
                os.kill(target.pid, signal.SIGCONT)

    def expect_stopped(self, pid):
        wait_until(lambda: state(pid) == "T")
        code, threads = dumped(pid)
        self.assertEqual((code, {thread["state"] for thread in threads.values()}), (0, {"stopped"}))
        self.assertEqual(state(pid), "T")

    def trace(self, keys):
        with CliTarget("plain", user=False) as target:
            line = ["-q", "-p", str(target.pid), "-d", "0.2", "-f", "folded", "-o", "/dev/null"]
            done = subprocess.run([programs["wallspy"], *line],
                                  env={**os.environ, "WALLSPY_TRACE": keys},
                                  capture_output=True, text=True, timeout=30, check=True)
        return done.stderr

    def test_traces(self):
        for keys, wanted in (("merge", {"merge"}), ("sym,merge", {"sym", "merge"}),
                             ("all", {"sym", "merge"})):
            text = self.trace(keys)
            self.assertEqual(set(re.findall(r"^\d+\.\d{6} (\w+) ", text, re.M)), wanted, text)
        self.assertTrue(self.trace("merge,nothing").startswith(
            "wallspy: warning: WALLSPY_TRACE takes merge, sym, wait or all"))


if __name__ == "__main__":
    main(__doc__, "wallspy", "deny", "target")
