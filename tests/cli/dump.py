"""What `wallspy dump` says at three o'clock in the morning, of real programs that hang.

usage: dump.py WALLSPY TARGET [unittest's arguments]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from support.outcome import main
from support.processes import children, wait_for_rest
from support.programs import programs
from support.schema import keys, violations
from support.targets import Target
from support.wallspy import call

PYTHON_TARGET = pathlib.Path(__file__).with_name("dump_target.py")


def dump(*args, code=0):
    """Runs dump on ARGS; returns its lines, none wider than a terminal."""
    ran = call([programs["wallspy"], "dump", *args], timeout=30)
    assert ran.code == code, ran
    lines = ran.stdout.splitlines()
    if "--full" not in args and "--json" not in args:
        wide = [line for line in lines if len(line) > 79]
        assert not wide, wide
    return lines


def dump_json(*args):
    return json.loads("\n".join(dump("--json", *args)))


# Kinds of dump_target.cc.
NEVER_REST = ("spin", "progress", "turns")


class Hung(Target):
    """A program that hangs until the block is left."""

    def __init__(self, *line, rank=None):
        rank = {"RANK": str(rank)} if rank is not None else {}
        super().__init__(line, "ready", gently=True, env={**os.environ, **rank})
        if line[1] not in NEVER_REST:
            wait_for_rest(self.pid)  # from the word to the wait


def native(kind, *args):
    return Hung(programs["target"], kind, *map(str, args))


def python(kind, rank=None, args=()):
    return Hung(sys.executable, str(PYTHON_TARGET), kind, *args, rank=rank)


def ranges(numbers):
    """As wallspy lists them: "7-9, 12"."""
    found = []
    for n in sorted(numbers):
        if found and found[-1][1] == n - 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}-{b}"
                     for a, b in found)


def block(lines, pattern):
    """The line that PATTERN matches and those below it that are indented."""
    at = next((i for i, line in enumerate(lines) if re.search(pattern, line)), None)
    assert at is not None, (pattern, lines)
    end = next((i for i in range(at + 1, len(lines)) if not lines[i].startswith(" ")), len(lines))
    return lines[at:end]


class Json(unittest.TestCase):
    def setUp(self):
        docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
        self.schema = json.loads((docs / "dump-1.schema.json").read_text())
        self.page = (docs / "dump.md").read_text()

    def expect(self, value):
        self.assertEqual(list(violations(value, self.schema)), [])

    def test_the_page(self):
        (example,) = re.findall(r"```json\n(.*?)```", self.page, re.S)
        self.expect(json.loads(example))
        missing = [key for key in keys(self.schema) if f"`{key}`" not in self.page]
        self.assertEqual(missing, [])

    def test_the_check_itself(self):
        (example,) = re.findall(r"```json\n(.*?)```", self.page, re.S)
        for old, new in (('"tid": 28098', '"tid": "28098"'), ('"blocked",', '"asleep",'),
                         ('"0x80"', '"128"'), ('"ran": false, ', ''), ('"ran"', '"run"'),
                         ('"complete": true', '"complete": 1'),
                         ('"tids": [28098', '"tids": [true')):
            self.assertIn(old, example)
            self.assertNotEqual(list(violations(json.loads(example.replace(old, new, 1)),
                                                self.schema)), [], new)

    def test_dumps(self):
        for start, what, options in ((native, ["deadlock"], []), (native, ["abandon"], []),
                                     (native, ["spin"], ["--twice", "0.2"]),
                                     (native, ["pool", 3], ["--full"]),
                                     (python, ["queue"], ["--locals"]), (python, ["rank", 2], []),
                                     (python, ["asyncio"], ["--no-stop"])):
            with self.subTest(what), start(*what) as target:
                self.expect(dump_json("-p", target.pid, *options))

    def test_deadlock(self):
        with native("deadlock") as target:
            shown = dump_json(target.pid)
        threads = {t["tid"]: t for t in shown["processes"][0]["threads"]}
        (circle,) = shown["circles"]
        self.assertTrue(circle["deadlock"])
        first, second = circle["tids"]
        self.assertEqual(threads[first]["waits_for"]["tid"], second)
        self.assertEqual(threads[second]["waits_for"]["tid"], first)
        self.assertEqual({threads[tid]["waits_for"]["name"] for tid in circle["tids"]},
                         {"db", "cache"})
        self.assertEqual({t["ran"] for t in threads.values()}, {False})
        self.assertGreaterEqual(threads[first]["for_at_least_s"], 0.5)

    def test_arguments(self):
        with python("queue") as target:
            frames = [f for t in dump_json(target.pid, "--locals")["processes"][0]["threads"]
                      for f in t["frames"]]
        self.assertIn(("collect", "limit=3"), [(f["name"], f.get("arguments")) for f in frames])


class Text(unittest.TestCase):
    def test_deadlock_comes_first(self):
        with native("deadlock") as target:
            lines = dump(target.pid)
        self.assertRegex(lines[0] + lines[1], r"3 threads, none of them ran in the 0\.\d s of this")
        text = "\n".join(lines)
        wrong = re.search(r"\n  deadlock: (\d+) (refresh|commit) waits for mutex (?:db|cache) "
                          r"\(0x\w{4}…\w{3}\), held by (\d+) (refresh|commit)\n"
                          r"            (\d+) (refresh|commit) waits for mutex (?:db|cache) ", text)
        self.assertRegex(text, r"refresh +waits for mutex db \(")
        self.assertTrue(wrong, text)
        self.assertEqual(wrong[3], wrong[5])
        self.assertLess(wrong.start(), text.index("\n" + wrong[1]))
        found = block(lines, r"^\d+ refresh ")
        self.assertEqual(found[1], "    std::mutex::lock")
        self.assertRegex(found[2], r"^    take +dump_target\.cc:\d+   std::lock_guard<std::mu")
        self.assertRegex(found[3], r"^    refresh +dump_target\.cc:\d+   take\(cache, db\);$")
        self.assertRegex(lines[-1], r"^\d+ frames of libc and libstdc\+\+ not shown: --full$")

    def test_waits_at_different_moments_are_no_circle(self):
        with native("turns", 31) as target:
            for _ in range(20):
                self.assertNotRegex("\n".join(dump(target.pid)), "circular wait|deadlock")

    def test_epoll_of_what_needs_two_scans(self):
        with python("epoll") as target:
            lines = dump(target.pid)
        self.assertRegex(" ".join(" ".join(lines).split()),
                         r" main waits for a wake-up by its own (socket|pipe)")

    @unittest.skipIf(sys.version_info < (3, 11), "tasks are read from 3.11 on")
    def test_tasks(self):
        with python("asyncio") as target:
            lines = dump(target.pid)
            full = dump(target.pid, "--full")
            (tasks,) = [t["tasks"] for t in dump_json(target.pid)["processes"][0]["threads"]
                        if t["tid"] == target.pid]
        found = block(lines, r"^\d+ main ")
        self.assertEqual(found[-3], "  4 asyncio tasks")
        self.assertRegex(found[-2], r"^    3 tasks: handle dump_target\.py:\d+ > Queue\.get, "
                                    r"of one Queue$")
        self.assertRegex(found[-1], r"^    task Task-1: serve dump_target\.py:\d+ > gather$")
        self.assertRegex("\n".join(full), r"3 tasks: handle /\S+/dump_target\.py:\d+ > "
                                          r"Queue\.get /\S+/asyncio/queues\.py:\d+, of one Queue")
        self.assertEqual(sorted(t["waits_for"]["kind"] for t in tasks),
                         ["gather", "queue", "queue", "queue"])
        self.assertEqual({t["waits_for"].get("type") for t in tasks}, {None, "Queue"})

    def test_full(self):
        with native("deadlock") as target:
            lines = dump(target.pid, "--full")
        text = "\n".join(lines)
        self.assertIn("__lll_lock_wait", text)
        self.assertRegex(text, r"take \(\[dump_target[^]]*\] \S*/dump_target\.cc:\d+\)")
        self.assertIn("(kernel: ", text)
        self.assertNotIn("not shown", text)

    def test_lock_that_nobody_holds(self):
        with native("abandon") as target:
            lines = dump(target.pid)
        text = " ".join(" ".join(lines).split())
        self.assertRegex(text, r" owner gone: \d+ heir waits for mutex m \(\S+\), held by \d+, "
                               r"which is not a thread of this process: it has ended, or the lock "
                               r"was inherited by fork ")

    def test_lost_wake_up(self):
        with native("lost", 3) as target:
            text = " ".join(" ".join(dump(target.pid)).split())
            (process,) = dump_json(target.pid)["processes"]
            filtered = dump(target.pid, "--thread", "worker-*")
            target.process.terminate()  # it sees no end of its input
        self.assertIn("look stuck: All 4 threads wait for one another, without a time-out: only a "
                      "signal can wake them. ", text)
        self.assertIs(process["stuck"], True)
        self.assertNotIn("stuck", "\n".join(filtered))

    def test_who_waits_for_input_is_not_stuck(self):
        with native("pool", 3) as target:
            self.assertNotIn("stuck", "\n".join(dump(target.pid)))
            (process,) = dump_json(target.pid)["processes"]
        self.assertIs(process["stuck"], False)

    def test_pool(self):
        with native("pool", 200) as target:
            start = time.monotonic()
            lines = dump(target.pid)
            took = time.monotonic() - start
            found = block(lines, "^200 x worker-")
        self.assertLess(took, 2)
        self.assertLess(len(lines), 16, lines)
        self.assertIn("wait for a condition", found[0])
        # Others may take ids, too: then there are more ranges, and more lines of them.
        self.assertRegex(found[1], r"^  [\d, ]*\d+-\d+")
        frames = [line for line in found[1:] if not re.fullmatch(r"  [\d, -]+", line)]
        self.assertEqual(frames[0], "    std::condition_variable::wait")
        self.assertRegex(frames[1], r"^    serve +dump_target\.cc:\d+   work\.wait\(lock, ")

    def test_thousand_threads(self):
        with native("pool", 1000) as target:
            start = time.monotonic()
            lines = dump(target.pid)
            took = time.monotonic() - start
            self.assertEqual(len(dump_json(target.pid)["processes"][0]["threads"]), 1001)
        self.assertLess(took, 2)
        self.assertLess(len(lines), 16)
        self.assertIn("1001 threads, ", " ".join(lines[:2]))

    def test_deep_stack(self):
        with native("deep", 500) as target:
            lines = dump(target.pid)
            whole = dump_json(target.pid)["processes"][0]["threads"]
        found = block(lines, r"^\d+ deep ")
        self.assertTrue(any(re.match(r"    deep \(\d+ times\) ", line) for line in found), found)
        self.assertLess(len(found), 8)
        self.assertGreater(max(len(thread["frames"]) for thread in whole), 500)

    def test_who_ran(self):
        with native("spin") as target:
            lines = dump(target.pid)
            self.assertRegex(" ".join(lines[:2]), r"2 threads, 1 of them ran in the 0\.\d+ s ")
            self.assertRegex("\n".join(lines), r"(?m)^\d+ spinner +(runs \d+% of the time|"
                         r"waits for a CPU, ran \d+% of the time)(, waited for a CPU \d+%)?$")
            self.assertRegex(" ".join(" ".join(lines).split()),
                             rf"{target.pid} main waits for {os.getpid()} \(\S+\), which has "
                             r"the pipe's other end, for 0\.\d+ s or more")
            start = time.monotonic()
            lines = dump(target.pid, "--twice", "1s")
            self.assertGreater(time.monotonic() - start, 1)
        self.assertRegex(" ".join(lines[:2]), r"1 of them ran in the 1\.\d s between two looks")
        self.assertRegex(" ".join(" ".join(lines).split()),
                         r" \d+ spinner [^,]*, ran between the looks, \d+% of the time")
        self.assertRegex(" ".join(" ".join(lines).split()), r"other end, for 1\.\d s or more")

    def test_who_only_waits_though_it_runs(self):
        for kind, name, spun in ("progress", "progress", True), ("spin", "spinner", False):
            with native(kind) as target:
                (process,) = dump_json(target.pid)["processes"]
                (now,) = dump_json(target.pid, "--now")["processes"]
            (thread,) = [t for t in process["threads"] if t["name"] == name]
            self.assertIs(thread["spun"], spun)
            self.assertIs(process["threads"][0]["spun"], False)
            self.assertIsNone(now["threads"][0]["spun"])

    def test_python_queue(self):
        with python("queue") as target:
            lines = dump(target.pid)
        found = block(lines, r"^\d+ main ")
        self.assertRegex(found[1], r"^    Queue\.get +queue\.py:\d+ ")
        self.assertTrue(any(re.match(r"    collect +dump_target\.py:\d+   return \[jobs\.get\(\) ",
                                     line) for line in found), found)
        self.assertRegex(found[-1], r"^    <module> +dump_target\.py:\d+   collect\(3\)$")
        self.assertRegex(lines[-1], r"^\d+ frames of libc and CPython not shown: --full$")

    def test_asyncio(self):
        with python("asyncio") as target:
            found = block(dump(target.pid), r"^\d+ main +waits for a wake-up by its own so")
        tasks = [line for line in found if "asyncio tasks" in line]
        stack = found[:found.index(tasks[0])] if tasks else found  # test_tasks sees to the others
        self.assertRegex(stack[-1], r"^    <module> +dump_target\.py:\d+   asyncio\.run\(serve")
        self.assertLess(len(stack), 8, found)

    def test_ranks(self):
        with python("rank", 0) as a, python("rank", 1) as b, python("rank", 2) as c, \
                python("rank", 3) as d:
            pids = [a.pid, b.pid, c.pid, d.pid]
            lines = dump("-p", ",".join(map(str, pids)))
            shown = dump_json("-p", ",".join(map(str, pids)))
        head = " ".join(" ".join(block(lines, r"^4 x \S*python")).split())
        listed = ranges(pids)
        self.assertRegex(head, r"^4 x \S*python\S* \S+dump_target\.py rank: 8 threads, none of "
                               rf"them ran in the 0\.\d s of this look rank 0-3: {listed} "
                               r"rank 2: waits for a pipe whose other end \S.*, load_batch "
                               r"dump_target\.py:\d+ "
                               r"rank 0, 1, 3: wait for a pipe \S.*, all_reduce "
                               r"dump_target\.py:\d+$")
        odd = block(lines, rf"^{c.pid} rank2 main +waits for a pipe whose other end")
        self.assertRegex(odd[1], r"^    load_batch +dump_target\.py:\d+   return os\.read\(fd, 2\)")
        same = block(lines, "^3 x main ")
        self.assertEqual(same[1], "  in rank 0, 1, 3: " + ranges([a.pid, b.pid, d.pid]))
        self.assertLess(lines.index(odd[0]), lines.index(same[0]))
        self.assertEqual(sorted(process["rank"] for process in shown["processes"]), list("0123"))
        self.assertEqual(sum(len(process["threads"]) for process in shown["processes"]), 8)

    def test_ranks_whose_arguments_have_numbers(self):
        """As deepspeed passes them; the number that is the same stays."""
        args = [("--local-rank=0", "-n4"), ("--local-rank=1", "-n4"), ("--local-rank=10", "-n4")]
        with python("rank", 0, args[0]) as a, python("rank", 1, args[1]) as b, \
                python("rank", 10, args[2]) as c, python("rank", 11, ("--local-rank", "-n4")) as d:
            lines = dump("--full", "-p", ",".join(str(target.pid) for target in (a, b, c, d)))
        head = " ".join(" ".join(block(lines, r"^3 x \S*python")).split())
        self.assertRegex(head, r"dump_target\.py rank --local-rank=\* -n4: 6 threads, .* "
                               r"rank 0, 1, 10: ")
        other = " ".join(" ".join(block(lines, rf"^{d.pid} rank11 \S*python")).split())
        self.assertRegex(other, r"dump_target\.py rank --local-rank -n4: 2 threads, ")

    def test_the_whole_tree(self):
        """With -s the ranks' launcher is enough, and comes last; without it its message names it.
        """
        with Hung(sys.executable, str(PYTHON_TARGET), "launch", "5") as target:
            ranks = children(target.pid)
            lines = dump("-s", "-p", target.pid)
            shown = dump_json("-s", "-p", target.pid)
            alone = dump("-p", target.pid)
        self.assertEqual({p["pid"] for p in shown["processes"]}, {target.pid, *ranks})
        numbers = [p["rank"] for p in shown["processes"] if "rank" in p]
        self.assertEqual(sorted(numbers), list("01234"))
        head = " ".join(" ".join(block(lines, r"^5 x \S*python")).split())
        self.assertRegex(head, r"rank 2: waits for a pipe \S.*, load_batch dump_target\.py:\d+ "
                               r"4 ranks: wait for a pipe \S.*, all_reduce dump_target\.py:\d+$")
        threads = [line for line in lines if re.match(r"\d+ (rank\d |x )?(main|watcher) ", line)]
        self.assertRegex(threads[0], rf"^{ranks[2]} rank2 main ")
        self.assertRegex(threads[1], r"^4 x main ")
        self.assertRegex(threads[-1], rf"^{target.pid} main +waits for its child {ranks[0]} ")
        self.assertIn(f"{target.pid} only waits for its children; to see them: wallspy "
                      f"dump -s -p {target.pid}", " ".join(alone))
        self.assertNotIn("to see them: wallspy", " ".join(lines))

    def test_sources_that_are_newer_are_not_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "job.py")
            shutil.copy(PYTHON_TARGET, script)
            with Hung(sys.executable, str(script), "queue") as target:
                self.assertIn("   collect(3)", "\n".join(dump(target.pid)))
                script.write_text("# something else\n" * 100)
                os.utime(script, (0, 0))  # as cp -p and rsync -t do
                lines = dump(target.pid)
        self.assertNotIn("something else", "\n".join(lines))
        self.assertEqual(lines[-1], "job.py is newer than the process: its lines are not shown")

    def test_no_source_but_a_regular_file(self):
        """A FIFO in its place is not opened; a link is not followed."""
        for make in os.mkfifo, lambda path: os.symlink("/etc/hostname", path):
            with self.subTest(make), tempfile.TemporaryDirectory() as folder:
                script = pathlib.Path(folder, "job.py")
                shutil.copy(PYTHON_TARGET, script)
                with Hung(sys.executable, str(script), "queue") as target:
                    script.unlink()
                    make(script)
                    found = block(dump(target.pid), r"^\d+ main ")
                self.assertRegex(found[-1], r"^    <module> +job\.py:\d+$")

    def test_a_process_that_ends_during_the_look(self):
        with subprocess.Popen(["sleep", "0.4"]) as process:
            lines = dump(process.pid)
        self.assertIn("1 thread, which ran in the 0.", " ".join(lines))
        self.assertRegex("\n".join(lines), r"(?m)^\d+ main .*, ended since$")

    def test_the_path_that_a_call_looks_up(self):
        """A FIFO without a writer, whose open waits; relative to a folder, and a descriptor."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(os.path.join(folder, "fifo"))
            for code in ("os.chdir(sys.argv[1]); os.open('fifo', 0)",
                         "os.open(sys.argv[1] + '/fifo', 0)",
                         "os.open('fifo', 0, dir_fd=os.open(sys.argv[1], 0))"):
                ready = "import os, sys; print('ready', flush=True); "
                line = [sys.executable, "-c", ready + code, folder]
                with self.subTest(code), Target(line, "ready") as t:
                    wait_for_rest(t.pid)
                    words = " ".join(" ".join(dump(t.pid)).split())
                    self.assertIn(f" in openat of {folder}/fifo, a FIFO whose other end no "
                                  "process has open ", words)

    def test_a_thread_of_many(self):
        with native("spin") as target:
            lines = dump(target.pid, "--thread", "spinner")
        self.assertRegex(" ".join(lines[:2]), r"1 of 2 threads, which ran in the 0\.\d+ s ")

    def test_zombie(self):
        with subprocess.Popen(["true"]) as process:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            ran = call([programs["wallspy"], "dump", process.pid], timeout=30)
        self.assertIn(ran.code, (4, 6))
        self.assertEqual(ran.stdout, "")
        self.assertTrue(ran.stderr.startswith("wallspy: "), ran.stderr)


if __name__ == "__main__":
    main(__doc__, "wallspy", "target")
