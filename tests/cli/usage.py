"""The program as it is called: usage, launching, signals, files, exit codes.

usage: usage.py WALLSPY DENY TARGET [unittest's arguments]
"""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from support.cases import FolderTest
from support.outcome import main
from support.processes import (children, has_ended, state, thread_names, wait_for_rest, wait_until,
                               wait_until_taken)
from support.programs import programs
from support.recording import Recording
from support.targets import CliTarget
from support.terminal import Terminal
from support.unharmed import assert_let_go
from support.wallspy import await_text, run

READY = "ready\n"


def fill(pipe):
    """Until not one byte more fits in."""
    os.set_blocking(pipe, False)
    try:
        while True:
            os.write(pipe, b" " * 4096)
    except BlockingIOError:
        os.set_blocking(pipe, True)


def sampling(*args, **how):
    """wallspy on ARGS, once it samples."""
    process = subprocess.Popen([programs["wallspy"], *map(str, args)], stderr=subprocess.PIPE,
                               text=True, **how)
    await_text(process.stderr, "sampling")
    return process


def wait_until_it_writes(process):
    """Until it neither samples nor explains any more."""
    def writes():
        assert process.poll() is None, process.returncode
        return ("wallspy-sampler" not in thread_names(process.pid) and
                not children(process.pid))

    wait_until(writes, 20, "it does not write")


class InFolder(FolderTest):
    def expect_recording(self, path):
        recording = Recording(path)
        self.assertTrue(recording.lines)
        self.assertEqual(glob.glob(".*.tmp"), [])
        return recording


class Usage(unittest.TestCase):
    def test_alone(self):
        code, out, _, err = run(user=False)
        self.assertEqual((code, out, len(err.splitlines())), (2, "", 8))

    def test_help_and_version(self):
        for line in (["--help"], ["dump", "-h"], ["standby", "--help"]):
            code, out, _, err = run(*line, user=False)
            self.assertEqual((code, err), (0, ""))
            self.assertTrue(out.startswith("usage: wallspy "))
        self.assertRegex(run("-V", user=False)[1], r"^wallspy \d+\.\d+\.\d+\n$")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([programs["wallspy"], "--help"], stdout=full, check=False)
        self.assertEqual(done.returncode, 1)

    def test_mistakes(self):
        for line, text in ((["--rat", "5", "1"], "unknown option --rat: did you mean --rate?"),
                           (["record"], "record: give -p PID or a command to launch"),
                           (["-o", "x.pdf", "1"],
                            "x.pdf: what format? End it in .json (speedscope), ")):
            code, out, message, _ = run(*line, user=False)
            self.assertEqual((code, out), (2, ""))
            self.assertTrue(message.startswith("wallspy: " + text), message)


class Mistaken(InFolder):
    """Something else was given than a process or a program."""

    def test_a_name_for_a_process(self):
        name = "marked-by-this-test.py"
        with open(name, "w", encoding="ascii") as script:
            script.write("import sys; sys.stdin.read()")
        process = subprocess.Popen([sys.executable, name, "--token=SECRETWORD", "x" * 100],
                                   stdin=subprocess.PIPE)
        self.addCleanup(process.communicate)
        for command in [], ["dump"]:
            code, out, _, err = run(*command, "-p", name[:-3], user=False)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(err,
                             rf"youngest\sfirst:\n +pid +age  command\n +{process.pid} +\d s  "
                             rf"python\S* {name} ")
            self.assertTrue(err.endswith("…\n"), err)
            self.assertNotIn("SECRET", err)

    def test_a_name_that_no_process_has(self):
        code, _, message, _ = run("-p", "no-such-program", user=False)
        whose = "" if os.geteuid() == 0 else " of yours"
        self.assertEqual((code, message),
                         (2, f"wallspy: -p takes process ids, and no process{whose} is named "
                             "no-such-program."))

    def test_a_recording_for_a_process(self):
        with CliTarget("plain", user=False) as t:
            for name in "train.json", "train.json.gz":
                self.assertEqual(run("-q", "-p", t.pid, "-d", "0.2", "-o", name, user=False)[0], 0)
                for line in [name], ["-p", name], ["dump", "-p", name]:
                    self.assertEqual(run(*line, user=False)[:3],
                                     (2, "", f"wallspy: {name} is a recording: open it at "
                                             "https://www.speedscope.app"))


class Standby(InFolder):
    def test_status_and_arguments(self):
        code, out, _, _ = run("standby", "sh", "-c", "echo $0; exit 7", "-x", user=False)
        self.assertEqual((code, out), (7, "-x\n"))

    def test_what_cannot_run(self):
        self.assertEqual(run("standby", "/no/such", user=False)[:3],
                         (127, "", "wallspy: cannot run /no/such: No such file or directory"))
        self.assertEqual(run("standby", "/", user=False)[0], 126)


class Attached(InFolder):
    def test_interrupt_in_the_background_of_a_script(self):
        """Shells let background commands of scripts ignore SIGINT."""
        with CliTarget("plain", user=False) as t:
            script = f"{programs['wallspy']} -p {t.pid} -o o.json & echo $!; wait $!"
            process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            pid = int(process.stdout.readline())
            await_text(process.stderr, "sampling")
            os.kill(pid, signal.SIGINT)
            try:
                _, err = process.communicate(timeout=20)
            finally:
                if process.poll() is None:
                    os.kill(pid, signal.SIGTERM)
                    process.communicate()
            self.assertEqual(process.returncode, 0, err)
            self.expect_recording("o.json")

    def test_what_cannot_be_written_where_it_should_be_is_written_elsewhere(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        for output, more, reason in (("/dev/full", {}, "No space left on device"),
                                     ("-", {"stdout": write_end}, "Broken pipe")):
            with CliTarget("plain", user=False) as t:
                process = sampling("-p", t.pid, "-d", "0.3", "-o", output, "-f", "speedscope",
                                   **more)
                _, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 1, err)
            kept = f"wallspy.{process.pid}.json"
            said = f"cannot write {output}: {reason}. The recording is in {os.path.realpath(kept)}."
            self.assertIn(said, " ".join(err.split()).replace("wallspy: ", ""))
            self.expect_recording(kept)
        os.close(write_end)

    def test_a_second_hangup_asks_for_nothing(self):
        os.mkfifo("o.json")
        with CliTarget("plain", user=False) as t:
            process = sampling("-p", t.pid, "-d", "0.3", "-o", "o.json")
            await_text(process.stderr, "waiting for a reader")
            process.send_signal(signal.SIGHUP)
            await_text(process.stderr, "again: discard")
            process.send_signal(signal.SIGHUP)
            wait_until_taken(process.pid, signal.SIGHUP)
            with open("o.json", encoding="utf-8") as fifo:
                self.assertTrue(json.load(fifo))
            _, err = process.communicate(timeout=5)
            self.assertEqual(process.returncode, 0, err)

    def test_nobody_reads(self):
        os.mkfifo("o.json")
        read_end, write_end = os.pipe()
        os.symlink("/dev/stdout", "o.json.gz")
        for output, more in (("o.json", {}), ("-", {"stdout": write_end}),
                             ("o.json.gz", {"stdout": write_end})):
            with CliTarget("plain", user=False) as t:
                process = sampling("-p", t.pid, "-r", "1000", "-d", "0.3", "-o", output, **more)
                if more:  # what it writes would fit into the pipe
                    fill(write_end)
                wait_until_it_writes(process)
                process.send_signal(signal.SIGINT)
                await_text(process.stderr, "again: discard")
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=5)
                self.assertEqual(process.returncode, 1, err)
                self.assertIn("discarded", err)
        os.close(read_end)
        os.close(write_end)

    def test_nobody_reads_and_the_command_ends(self):
        """The first signal is the command's; it is gone when the next ones come."""
        os.mkfifo("o.json")
        process = sampling("-d", "0.3", "-o", "o.json", "--", "sleep", "60")
        await_text(process.stderr, "waiting for a reader")
        (command,) = children(process.pid)  # what explains the recording has ended
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: has_ended(command))
        process.send_signal(signal.SIGTERM)
        await_text(process.stderr, "again: discard")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=5)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.assertIn("discarded", err)

    def test_fifo(self):
        os.mkfifo("o.json")
        with CliTarget("plain", user=False) as t:
            process = subprocess.Popen([programs["wallspy"], "-q", "-p", str(t.pid), "-d", "0.3",
                                        "-o", "o.json"])
            wait_until_it_writes(process)
            with open("o.json", encoding="utf-8") as fifo:
                self.assertIn("profiles", json.load(fifo))
            self.assertEqual(process.wait(5), 0)

    def test_there_are_samples_however_short_it_is(self):
        with CliTarget("plain", user=False) as t:
            for _ in range(20):
                line = ["-q", "-p", t.pid, "-d", "0.000001", "-o", "o.json"]
                self.assertEqual(run(*line, user=False)[0], 0)

    def test_one_is_missing(self):
        with CliTarget("plain", user=False) as t:
            pids = f"{t.pid},999999999"
            self.assertEqual(run("-p", pids, "-d", "0.2", "-o", "o.json", user=False)[0], 0)
            self.assertEqual(run("--strict", "-p", pids, "-d", "0.2", "-o", "o.json",
                                 user=False)[0], 6)

    def test_a_cut_command_line_leaks_no_secret(self):
        """What tells that it is one lies behind what is shown."""
        process = subprocess.Popen(["sh", "-c", "read x", "a" * 4060,
                                    "postgres://u:SECRETPASSWORD@host"],
                                   stdin=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        for more in ["--full"], ["--json"]:
            code, out, _, _ = run("dump", *more, "-p", process.pid, user=False)
            self.assertEqual(code, 0)
            self.assertIn("postgres://***", out)
            self.assertNotIn("SECRET", out)

    def test_empty_arguments_at_the_end_are_not_shown(self):
        """Servers that put a title in the place of their arguments leave them."""
        line = ["sh", "-c", "echo ready; read x", "a", "", "b", "", "", ""]
        process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), READY)
        self.assertIn(" sh -c 'echo ready; read x' a '' b:\n",
                      run("dump", "-p", process.pid, user=False)[1])
        (shown,) = json.loads(run("dump", "--json", "-p", process.pid, user=False)[1])["processes"]
        self.assertEqual(shown["command"], ["sh", "-c", "echo ready; read x", "a", "", "b"])

    def test_interpreter_is_missing(self):
        with open("script", "w", encoding="ascii") as script:
            script.write("#!/no/such/interpreter\n")
        os.chmod("script", 0o755)
        for line in (["-q", "-o", "o.json", "./script"], ["standby", "./script"]):
            code, _, _, err = run(*line, user=False)
            self.assertEqual(code, 127)
            self.assertIn("cannot run ./script: the interpreter that it names", err)

    def test_more_than_can_be_sampled(self):
        sleeping = [subprocess.Popen(["sleep", "60"]) for _ in range(1002)]
        try:
            pids = ",".join(str(p.pid) for p in sleeping)
            code, out, _, err = run("dump", "--json", "-p", pids, user=False)
            self.assertEqual((code, len(json.loads(out)["processes"])), (0, 1000))
            self.assertIn(f"{sleeping[-1].pid} is left out: more than 1000 processes", err)
            self.assertEqual(run("-q", "-p", pids, "-d", "0.2", "-o", "o.json", user=False)[0], 0)
        finally:
            for process in sleeping:
                process.kill()
                process.wait()

    def test_no_such_thread(self):
        with CliTarget("plain", user=False) as t:
            said = "no thread matches --thread nobody*"
            has = "this process has: main, second"
            code, out, text, _ = run("dump", "-p", t.pid, "--thread", "nobody*", user=False)
            self.assertEqual((code, out, text), (6, "", f"wallspy: {said}; {has}"))
            code, _, text, _ = run("-p", t.pid, "--thread", "nobody*", "-d", "0.2", "-o", "o.json",
                                   user=False)
            self.assertEqual(code, 6)
            self.assertTrue(
                text.startswith(f"wallspy: warning: {said} yet; {has} wallspy: sampling"), text)
            self.assertIn("no sample was taken: no thread matched --thread", text)
            code, _, text, _ = run("-p", t.pid, "--thread", 999999999, "-d", "60", "-o", "o.json",
                                   user=False)
            self.assertEqual((code, text),
                             (6, "wallspy: no thread matches --thread 999999999; this process has: "
                                 f"{t.pid} main, {t.tid} second"))

    def test_snapshot(self):
        with CliTarget("plain", user=False) as t:
            process = sampling(t.pid, "-o", "o.json")
            process.send_signal(signal.SIGUSR1)
            await_text(process.stderr, "wrote")
            self.expect_recording("o.snap1.json")
            self.assertFalse(os.path.exists("o.json"))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
            self.expect_recording("o.json")

    def test_snapshot_of_no_file(self):
        with CliTarget("plain", user=False) as t:
            for name in "-", "none":
                process = sampling("-p", t.pid, "-o", name, stdout=subprocess.DEVNULL)
                process.send_signal(signal.SIGUSR1)
                await_text(process.stderr, "no snapshot")
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=20)
                self.assertEqual(process.returncode, 0)

    def test_what_is_known_of_others_code(self):
        """Of the user's file and of the usual one; a bad row is told before anything begins."""
        usual = os.path.join("config", "wallspy", "known.def")
        os.makedirs(os.path.dirname(usual))
        here = {"XDG_CONFIG_HOME": os.path.abspath("config")}
        for path in ("mine.def", usual):
            with open(path, "w", encoding="utf-8") as rows:
                rows.write("* libacme own\nacme_wait - pol\n")
            words = [] if path == usual else ["--known", path]
            done = subprocess.run([programs["wallspy"], *words, "-o", "none", "--", "sleep", "1"],
                                  env={**os.environ, **here}, text=True, capture_output=True,
                                  check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{path}: line 2: unknown word: pol", " ".join(done.stderr.split()))
            os.remove(path)
        self.assertIn("missing.def: No such file or directory (--known)",
                      run("--known", "missing.def", "-o", "none", "--", "sleep", "1")[2])

    def test_the_answer_alone(self):
        with CliTarget("plain", user=False) as t:
            for line, wanted in (["-p", t.pid, "-d", "0.3"],
                                 0), (["--", "sh", "-c", "sleep 0.3; exit 7"], 7):
                code, out, text, _ = run("-o", "none", *line, user=False)
                self.assertEqual((code, out), (wanted, ""), text)
                self.assertIn("where its time goes", text)
                self.assertIn("quality", text)
                self.assertNotIn("wrote", text)
                self.assertEqual(os.listdir("."), [])

    def test_duration_and_default_name(self):
        with CliTarget("plain", user=False) as t:
            self.assertEqual(run(t.pid, "-d", "300ms", user=False)[0], 0)
            (name,) = glob.glob(f"wallspy-target-{t.pid}-*.json")
            self.expect_recording(name)

    def test_default_name_where_renames_replace(self):
        """A file system may have no rename that replaces nothing, and no links either."""
        for deny in "renameat2=EINVAL", "renameat2=EINVAL,link=EPERM":
            with CliTarget("plain", user=False) as t:
                code, _, text, _ = run(t.pid, "-d", "300ms", user=False, deny=deny)
                self.assertEqual(code, 0, text)
                (name,) = glob.glob(f"wallspy-target-{t.pid}-*.json")
                self.expect_recording(name)
                self.assertEqual(os.stat(name).st_nlink, 1)

    def test_name_from_the_targets_environment(self):
        os.mkdir("rank7")
        process = subprocess.Popen(["sleep", "60"], env={**os.environ, "RANK": "7"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(run(process.pid, "-q", "-d", "0.2", "-o", "rank%q{RANK}/%p.json",
                             user=False)[:3], (0, "", ""))
        self.expect_recording(f"rank7/{process.pid}.json")
        self.assertEqual(run(process.pid, "-o", "%q{RANKS}.json", user=False)[:3],
                         (2, "", "wallspy: %q{RANKS}: the environment of "
                          f"{process.pid} has no such variable"))

    def test_each_process_has_its_own_environment(self):
        ranks = {}
        for rank in "0", "7":
            process = subprocess.Popen(["sleep", "60"], env={**os.environ, "RANK": rank})
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            ranks[process.pid] = rank
        pids = ",".join(map(str, ranks))
        self.assertEqual(run("-q", "-p", pids, "-d", "0.2", "-o", "%p.json", user=False)[:3],
                         (0, "", ""))
        for pid, rank in ranks.items():
            (process,) = Recording(f"{pid}.json").facts["processes"]
            self.assertEqual(process["pid"], pid)
            self.assertIn(f"RANK={rank}", process["environment"].split())

    def test_memory_is_bounded(self):
        with CliTarget("plain", user=False) as t:
            process = sampling(t.pid, "-o", "o.json")
            with open(f"/proc/{process.pid}/limits", encoding="utf-8") as file:
                (line,) = [line for line in file if line.startswith("Max data size")]
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
            soft = line.split()[3]
            if soft == "unlimited":
                self.skipTest("no limit: a sanitizer's memory is larger")
            # A quarter of the machine's memory within these bounds, and twice --max-size (256M).
            self.assertLessEqual((1 << 30) + (512 << 20), int(soft))
            self.assertLessEqual(int(soft), (2 << 30) + (512 << 20))

    def test_stdout(self):
        with CliTarget("plain", user=False) as t:
            code, out, _, _ = run(t.pid, "-d", "0.2", "-o", "-", user=False)
            self.assertEqual(code, 0)
            self.assertTrue(json.loads(out)["profiles"])
            # Closed, it is not taken for what wallspy opens first.
            line = ["sh", "-c", 'exec "$@" >&-', "sh", programs["wallspy"], "-p", str(t.pid),
                    "-d", "0.2", "-o", "-"]
            done = subprocess.run(line, stderr=subprocess.PIPE, text=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("cannot write -: Bad file descriptor", done.stderr)

    def test_exit_of_the_target(self):
        # Its parent, this one, collects it only afterwards.
        process = subprocess.Popen(["sleep", "0.5"])
        code, _, text, _ = run(process.pid, "-o", "o.json", user=False)
        process.wait()
        self.assertEqual(code, 0, text)
        self.expect_recording("o.json")

    def test_bad_directory_comes_first(self):
        with CliTarget("plain", user=False) as t:
            code, _, text, _ = run(t.pid, "-o", "no/o.json", user=False)
            self.assertEqual((code, text), (1, "wallspy: cannot write no/o.json: no/: No such file "
                                               "or directory. Make that directory, or choose "
                                               "another "
                                               "with -o."))

    def test_failed_rename_keeps_the_older_file(self):
        with open("o.json", "w", encoding="utf-8") as file:
            file.write("old")
        with CliTarget("plain", user=False) as t:
            process = subprocess.run([programs["deny"], "rename=EROFS", programs["wallspy"],
                                      str(t.pid), "-d", "0.2", "-o", "o.json"],
                                     capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(process.stderr.count("cannot replace"), 1, process.stderr)
        with open("o.json", encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")
        kept = re.search(r"The\s+recording\s+is\s+in\s+(\S+)\.\n", process.stderr).group(1)
        self.expect_recording(os.path.basename(kept))
        self.assertEqual(glob.glob(".*"), [])


class Launched(InFolder):
    def record(self, *command, options=(), deny=None):
        return run("-o", "o.json", *options, "--", *command, user=False, deny=deny)

    def test_status_is_passed_on(self):
        self.assertEqual(self.record("sh", "-c", "sleep 0.3; exit 7")[0], 7)
        self.expect_recording("o.json")
        self.assertEqual(self.record("sh", "-c", "sleep 0.3; kill -TERM $$")[0], 143)
        self.assertEqual(self.record("/no/such")[0], 127)
        self.assertEqual(self.record("/")[0], 126)

    def test_a_name_that_is_too_long_is_known_before_the_command_begins(self):
        for rank in "a" * 5000, "":
            done = subprocess.run([programs["wallspy"], "-o", "%q{RANK}", "-f", "folded", "--",
                                   "touch", "began"], env={**os.environ, "RANK": rank},
                                  stderr=subprocess.PIPE, text=True, timeout=30, check=False)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn("Choose another with -o.", done.stderr.replace("\n", " "))
            self.assertFalse(os.path.exists("began"))

    def test_head_line_names_the_python(self):
        """Also of one that a launcher becomes only later, as pyenv does."""
        version = ".".join(map(str, sys.version_info[:3]))
        with open("python", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nsleep 0.3\nexec {sys.executable} \"$@\"\n")
        os.chmod("python", 0o755)
        for program in sys.executable, "./python":
            code, _, text, _ = self.record(program, "-c", "import time; time.sleep(1)")
            self.assertEqual(code, 0, text)
            self.assertRegex(text, rf"sampling .*, CPython {version}\), 1 thread \(1 Python\)")

    def test_a_command_that_goes_on_is_waited_for(self):
        waiting = r"wallspy: sampling is over; waiting for sh \(\d+\) to end$"
        script = "i=0; until [ -e told ] || [ $((i += 1)) = 400 ]; do sleep 0.05; done; exit 3"
        line = [programs["wallspy"], "-d", "0.3", "-o", "o.json", "--", "sh", "-c", script]
        told = 0
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
            for message in process.stderr:
                if re.search(waiting, message):
                    told += 1
                    open("told", "w", encoding="utf-8").close()
        self.assertEqual((process.returncode, told), (3, 1))
        code, _, text, _ = self.record("sh", "-c", "sleep 0.3; exit 3")
        self.assertEqual(code, 3)
        self.assertNotRegex(text, waiting)

    def test_children_of_a_process_that_only_waits(self):
        process = subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60 & wait"],
                                   start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        command = rf"wallspy -s -p {process.pid} takes all three"
        for seconds, said in (("2.5", rf"{process.pid} \(sh\) only waits; its 2 children are"),
                              ("0.5", "wallspy: 2 children are")):
            code, _, text, _ = run("-p", process.pid, "-d", seconds, "-o", "none", user=False)
            self.assertEqual(code, 0, text)
            self.assertRegex(text, rf"{said} not sampled: {command}")
            self.assertEqual(text.count("not sampled"), 1, text)
        _, _, text, _ = run("-s", "-p", process.pid, "-d", "0.5", "-o", "none", user=False)
        self.assertRegex(text, "sampling .*sleep.* and .*sleep.* \\(2 of 2\\)")
        self.assertNotIn("not sampled", text)

    def test_a_child_that_has_ended_is_not_to_be_sampled(self):
        process = subprocess.Popen(["sh", "-c", "sleep 0 & exec sleep 60"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        _, _, text, _ = run("-p", process.pid, "-d", "2.5", "-o", "none", user=False)
        self.assertIn("sleep", text)
        self.assertNotIn("not sampled", text)

    def test_runs_where_sampling_is_impossible(self):
        code, out, text, _ = self.record("sh", "-c", "echo on; exit 3", deny="ptrace=EPERM")
        self.assertEqual((code, out), (3, "on\n"))
        self.assertEqual(text.count("wallspy: "), 1, text)
        self.assertTrue(text.startswith("wallspy: warning: "), text)
        self.assertEqual(self.record("true", options=["--strict"], deny="ptrace=EPERM")[0], 125)

    def test_no_descriptor_for_signals(self):
        script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        line = [programs["deny"], "eventfd2=EPERM", programs["wallspy"], "-o", "o.json"]
        process = subprocess.Popen([*line, "sh", "-c", script], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), READY)
        # else it may end before a sample
        await_text(process.stderr, "sampling")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 5, err)
        self.expect_recording("o.json")

    def test_what_ends_at_once(self):
        """It is recorded, or said to have been too quick: no error of a call that its user did not
        make."""
        for _ in range(10):
            code, _, text, _ = self.record("true")
            self.assertEqual(code, 0)
            if not os.path.exists("o.json"):
                self.assertRegex(text, r"(cannot sample true: it ended before the first sample"
                                       r"|no sample was taken: the target ended\.)$")
            else:
                os.remove("o.json")

    def test_signals_are_forwarded(self):
        for name in ("TERM", "HUP", "QUIT", "USR1", "USR2", "CONT", "WINCH", "INT"):
            script = f"trap 'echo {name}; exit 5' {name}; echo ready; while :; do sleep 0.05; done"
            process = subprocess.Popen([programs["wallspy"], "-q", "-o", "o.json", "sh", "-c",
                                        script], stdout=subprocess.PIPE, text=True)
            self.assertEqual(process.stdout.readline(), READY)
            process.send_signal(getattr(signal, "SIG" + name))
            out, _ = process.communicate(timeout=20)
            self.assertEqual((process.returncode, out), (5, name + "\n"))

    def test_signals_reach_a_stopped_command(self):
        """Also one that comes when it is stopped for a sample and the sampler does not know yet:
        where both and the test share a CPU, a third of the first signals."""
        line = ["taskset", "-c", str(min(os.sched_getaffinity(0))), programs["wallspy"],
                "-q", "-o", "o.json", "--",
                "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do :; done"]
        for _ in range(20):
            with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, start_new_session=True) as process:
                self.assertEqual(process.stdout.readline(), READY)
                process.terminate()
                try:
                    self.assertEqual(process.wait(10), 5)
                finally:
                    if process.returncode is None:
                        os.killpg(process.pid, signal.SIGKILL)

    def test_status_when_children_are_ignored(self):
        ignoring = ["env", "--ignore-signal=CHLD", programs["wallspy"], "-q", "-o", "o.json", "--"]
        for script in ("exit 7", "sleep 0.3; exit 7"):
            self.assertEqual(subprocess.run([*ignoring, "sh", "-c", script],
                                            check=False).returncode, 7)
        out = subprocess.run([*ignoring, "grep", "SigIgn", "/proc/self/status"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertTrue(int(out.split()[1], 16) >> (signal.SIGCHLD - 1) & 1)

    def test_command_inherits_nothing(self):
        script = ("import resource, signal; print([s.name for s in signal.valid_signals() if "
                  "type(s) is not "
                  "int and signal.getsignal(s) == signal.SIG_IGN], "
                  "signal.pthread_sigmask(signal.SIG_BLOCK, []), "
                  "resource.getrlimit(resource.RLIMIT_DATA))")
        plain = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                               check=True)
        self.assertEqual(self.record(sys.executable, "-c", script)[1], plain.stdout)


class InTerminal(InFolder):
    """With a terminal of its own, whose Ctrl-C goes to wallspy and its command alike."""

    def spawn(self, *line, program=None, columns=80):
        terminal = Terminal([program or programs["wallspy"], *line], columns)
        self.addCleanup(terminal.close)
        return terminal

    def test_progress_and_ctrl_c_attached(self):
        with CliTarget("plain", user=False) as t:
            terminal = self.spawn("-p", str(t.pid), "-o", "o.json")
            terminal.read_until(b"Ctrl-C")
            terminal.press(b"\x03")
            code, text = terminal.end()
            self.assertEqual(code, 0, text)
            self.expect_recording("o.json")
            assert_let_go(t.pid)

    def test_progress_of_what_sleeps(self):
        with CliTarget("plain", user=False) as t:
            terminal = self.spawn("-p", str(t.pid), "-o", "o.json", "-d", "2.2")
            code, text = terminal.end()
            self.assertEqual(code, 0, text)
        lines = re.findall(rb"(\d+)s +([\d.]+) Hz +2 threads", text)
        self.assertGreaterEqual(len(lines), 2, text)
        self.assertGreaterEqual(int(lines[-1][0]), 1)
        for _, rate in lines:
            self.assertLess(float(rate), 120, text)

    def test_progress_is_hidden_when_asked(self):
        with CliTarget("plain", user=False) as t:
            terminal = self.spawn("-p", str(t.pid), "-o", "o.json", "-d", "1.2", "--hideprogress")
            code, text = terminal.end()
            self.assertEqual(code, 0, text)
            self.assertNotIn(b"refused", text)
            self.assertIn(b"wrote", text)

    def test_no_progress_over_what_a_command_says(self):
        terminal = self.spawn("-o", "o.json", "sh", "-c", "printf 'your name? '; sleep 1.5; echo")
        code, text = terminal.end()
        self.assertEqual(code, 0, text)
        self.assertNotIn(b"\x1b[K", text)
        self.assertIn(b"your name? ", text)

    def test_no_progress_in_the_background(self):
        with CliTarget("plain", user=False) as t:
            script = f"set -m; {programs['wallspy']} -p {t.pid} -d 1.5 -o o.json & wait"
            terminal = self.spawn("-c", script, program="bash")
            code, text = terminal.end()
            self.assertEqual(code, 0, text)
            self.assertNotIn(b"\x1b[K", text)
            self.expect_recording("o.json")

    def test_hangup_reaches_the_command(self):
        """The leader of the session alone is told that its terminal is gone."""
        command = "trap 'echo hup >hup; exit 3' HUP; echo ready; while :; do sleep 0.1; done"
        terminal = self.spawn("-q", "-o", "o.json", "sh", "-c", command)
        terminal.read_until(b"ready")
        terminal.close()
        self.assertEqual(terminal.exit_code(), 3)
        with open("hup", encoding="utf-8") as told:
            self.assertEqual(told.read(), "hup\n")

    def test_a_closed_terminal_keeps_the_recording(self):
        """The shell hangs up its jobs, and so does the kernel when the shell has ended."""
        with CliTarget("plain", user=False) as t:
            terminal = self.spawn("--norc", "-i", program="bash")
            terminal.press(f"{programs['wallspy']} -p {t.pid} -o o.json\n".encode())
            terminal.read_until(b"Ctrl-C")
            terminal.close()
            wait_until(lambda: os.path.exists("o.json"))
            self.expect_recording("o.json")

    def test_ctrl_z_stops_wallspy_and_holds_nobody(self):
        with CliTarget("plain", user=False) as t:
            line = f"{programs['wallspy']} -r 1000 --max-overhead 100 -p {t.pid} -o o.json"
            terminal = self.spawn("-mc", line + 3 * "; echo is $?; read x; fg" + "; echo is $?",
                                  program="bash")
            terminal.read_until(b"Ctrl-C")
            for _ in range(3):
                terminal.press(b"\x1a")
                terminal.read_until(b"is 148")  # stopped
                assert_let_go(t.pid)
                terminal.press(b"\n")
                terminal.read_until(b"Ctrl-C")
            terminal.press(b"\x03")
            terminal.read_until(b"is 0")
            terminal.end()
            self.expect_recording("o.json")

    def test_ctrl_z_where_nobody_could_let_it_go_on(self):
        """As in ssh -t: there is no shell that watches jobs, and the kernel stops nobody."""
        with CliTarget("plain", user=False) as t:
            terminal = self.spawn("-p", str(t.pid), "-o", "o.json")
            terminal.read_until(b"Ctrl-C")
            terminal.press(b"\x1a")
            terminal.read_until(b"^Z")
            wait_until_taken(terminal.pid, signal.SIGTSTP)
            self.assertNotEqual(state(terminal.pid), "T")
            terminal.press(b"\x03")
            code, text = terminal.end()
            self.assertEqual(code, 0, text)
            self.expect_recording("o.json")

    def test_ctrl_z_once_sampling_is_over(self):
        """The command goes on, and stops; so does wallspy, or the shell would wait for it."""
        line = f"{programs['wallspy']} -d 0.3 -o o.json -- sh -c 'sleep 3; exit 4'"
        terminal = self.spawn("-mc", f"{line}; echo is $?; fg; echo is $?", program="bash")
        terminal.read_until(b"wrote")
        (wallspy,) = children(terminal.pid)
        wait_for_rest(wallspy)
        terminal.press(b"\x1a")
        terminal.read_until(b"is 148")  # stopped
        code, text = terminal.end()
        self.assertIn(b"is 4", text)
        self.assertEqual(code, 0)

    def test_narrow_terminal(self):
        for columns in (1, 20, 59):
            terminal = self.spawn("-o", "o.json", "--", "sleep", "0.4", columns=columns)
            code, text = terminal.end()
            self.assertEqual(code, 0, text)
            self.expect_recording("o.json")

    def test_ctrl_c_is_the_commands_business(self):
        script = ("trap 'echo got' INT; echo ready; n=0; "
                  "while [ $n -lt 60 ]; do sleep 0.05; n=$((n+1)); done; exit 9")
        terminal = self.spawn("-o", "o.json", "--", "sh", "-c", script)
        terminal.read_until(b"ready")
        terminal.press(b"\x03")
        terminal.read_until(b"sampling")  # the second one ends that
        self.assertFalse(os.path.exists("o.json"))
        terminal.press(b"\x03")
        terminal.read_until(b"wrote")
        code, text = terminal.end()
        self.assertEqual(code, 9, text)
        self.expect_recording("o.json")


if __name__ == "__main__":
    main(__doc__, "wallspy", "deny", "target")
