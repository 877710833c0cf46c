"""`wallspy report` of dumps that the test writes itself: their forms, who is told to be elsewhere,
what must not tell ranks apart, and inputs that are garbled.

usage: report.py WALLSPY [unittest's arguments]
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from dumps import (ENTRY, LIBC, dump, job, loading, native, process, python, thread, waiting,
                   write)
from support.cases import FolderTest
from support.outcome import main
from support.programs import programs
from support.schema import keys, violations

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCS / "report-1.schema.json").read_text(encoding="utf-8"))
TEXT = """Process {pid}: python3 train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    {name} (train.py:{line})
    <module> (train.py:30)
Thread 4711 (idle): "loader"
    wait (threading.py:327)
    run (train.py:3)
"""


class Report:
    """What was printed: the lines, and the first one."""

    def __init__(self, done):
        self.code = done.returncode
        self.text = done.stdout.decode()
        self.lines = self.text.splitlines()
        self.first = self.lines[0] if self.lines else ""
        assert not done.stderr, done.stderr
        assert all(len(line) <= 79 for line in self.lines), self.text


def report(*args, stdin=b""):
    return Report(subprocess.run([programs["wallspy"], "report", *map(str, args)], input=stdin,
                                 capture_output=True, timeout=60, check=False))


def document(*args, stdin=b""):
    done = subprocess.run([programs["wallspy"], "report", "--json", *map(str, args)], input=stdin,
                          capture_output=True, timeout=60, check=False)
    return json.loads(done.stdout)


class JobTest(FolderTest):
    """Of a job's dumps."""

    def told(self, dumps):
        """The report of DUMPS, in files; their JSON says the same, and is as its schema."""
        folder = pathlib.Path("dumps")
        write(folder, dumps)
        said = report(folder)
        as_json = document(folder)
        brief = report(folder, "--brief")
        self.assertEqual(brief.first, said.first)
        self.assertLessEqual(len(brief.lines), 12, brief.text)
        self.assertEqual(list(violations(as_json, SCHEMA)), [])
        self.assertEqual(as_json["headline"], said.first)
        for file in folder.iterdir():
            file.unlink()
        self.said, self.as_json = said, as_json
        return said

    def expect(self, first, dumps):
        said = self.told(dumps)
        self.assertEqual(said.code, 0, said.text)
        self.assertRegex(said.first, first, said.text)
        return said

    def expect_nobody(self, dumps):
        return self.expect("^all |ran or moved on: none stands out$", dumps)


class Forms(JobTest):
    def test_files_a_directory_and_standard_input(self):
        dumps = job(8, {3: loading()})
        first = r"^rank 3 .*\(node0\): load_batch train\.py:5, in read; 7 others: all_reduce"
        said = self.expect(first, dumps)
        write(pathlib.Path("plain"), dumps)
        write(pathlib.Path("gz"), dumps, compressed=True)
        files = sorted(pathlib.Path("plain").iterdir())
        lines = "".join(json.dumps(one) + "\n" for one in dumps).encode()
        joined = "".join(json.dumps(one, indent=1) for one in dumps).encode()
        write(pathlib.Path("gz/1/rank.0"), [])
        pathlib.Path("gz/00000.json.gz").rename("gz/1/rank.0/stdout")
        for other in (report("gz"), report(*files), report("-", stdin=lines),
                      report(stdin=joined, *["-"])):
            self.assertEqual(other.lines[:-1], said.lines[:-1])

    def test_a_long_stream(self):
        """Its reader sees a window of it at a time: whatever lies at the window's end counts."""
        name = 'load "b\u00e4tch" \U0001f600\n'
        frames = [native("read"), python(name, 5), python("step", 19), python("<module>", 30),
                  *ENTRY]
        helper = [native("futex"), python("x" * 700, 3), python("run \u00fc", 4)]
        dumps = job(300, {77: thread(1, frames, call="read", path="/d", kind=None)})
        for i, one in enumerate(dumps):
            one["processes"][0]["threads"] += [thread(100 + k, helper) for k in range(i % 9)]
        write(pathlib.Path("dumps"), dumps)
        said = report("dumps")
        self.assertIn('load "b\u00e4tch" \U0001f600?', said.first)
        for shift in 0, 1, 7, 31, 250:
            for ascii_only in True, False:
                lines = [json.dumps(one, ensure_ascii=ascii_only) for one in dumps]
                stream = " " * shift + ("\n" + " " * shift).join(lines)
                self.assertGreater(len(stream), 3 << 18)
                self.assertEqual(report("-", stdin=stream.encode()).lines[:-1], said.lines[:-1])

    def test_several_processes_of_one_dump(self):
        threads = {rank: loading() if rank == 5 else waiting() for rank in range(8)}
        self.expect("^rank 5 ", [dump([process(rank, [main])
                                       for rank, main in threads.items()])])

    def test_pyspys_text(self):
        for rank in range(4):
            name = "load_batch" if rank == 2 else "all_reduce"
            pathlib.Path(f"rank{rank}.txt").write_text(
                TEXT.format(pid=700, name=name, line=9), encoding="utf-8")
        said = report(*[f"rank{rank}.txt" for rank in range(4)])
        self.assertEqual(said.first, "rank 2 of 4: load_batch train.py:9, is idle; 3 others: "
                                     "all_reduce train.py:9")

    def test_pyspys_text_without_ranks(self):
        text = "".join(TEXT.format(pid=pid, name="load" if pid == 31 else "reduce", line=4)
                       for pid in range(30, 36))
        said = report("-", stdin=text.encode())
        self.assertEqual(said.first, "process 31: load train.py:4, is idle; 5 others: "
                                     "reduce train.py:4")

    def test_pyspys_json(self):
        def one(pid, name, line):
            frame = {"filename": "/job/train.py", "module": None, "short_filename": "train.py",
                     "locals": None, "is_entry": True}
            return {"pid": pid, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": pid,
                    "active": False, "owns_gil": False, "process_info": None,
                    "frames": [dict(frame, name=name, line=line),
                               dict(frame, name="<module>", line=30)]}
        for rank in range(4):
            pathlib.Path(f"rank_{rank}.json").write_text(json.dumps(
                [one(9, "load" if rank == 1 else "reduce", 5)]), encoding="utf-8")
        said = report(*[f"rank_{rank}.json" for rank in range(4)])
        self.assertRegex(said.first, r"^rank 1 of 4: load train\.py:5, is idle; 3 others: reduce")


class Odd(JobTest):
    """Who is told to be elsewhere."""

    def test_one_in_another_collective_of_the_same_function(self):
        frames = waiting()["frames"]
        later = [python("step", 27) if f.get("name") == "step" else f for f in frames]
        self.expect(r"^rank 6 .*; 7 others: ", job(8, {6: waiting(frames=later)}))

    def test_a_stopped_one(self):
        said = self.expect("^rank 2 .*is stopped",
                           job(8, {2: waiting(state="stopped", call=None, kind=None)}))
        self.assertIn("is stopped", said.text)

    def test_one_that_runs_while_the_others_wait(self):
        busy = waiting(state="running", call=None, kind=None, ran=True)
        self.expect("^rank 7 .*runs; 7 others: ", job(8, {7: busy}))

    def test_one_that_waits_for_the_gil(self):
        frames = [python("collect", 70), python("step", 21), python("<module>", 30), *ENTRY]
        self.expect("^rank 0 .*: collect train.py:70, runs; 3 others",
                    job(4, {0: thread(1, frames, state="running", call=None, kind=None,
                                      ran=True)}))

    def test_the_culprit_before_who_waits_for_it(self):
        receiving = [native("recv"), python("recv_left", 50), python("step", 20),
                     python("<module>", 30), *ENTRY]
        self.expect("^rank 3 ", job(8, {3: loading(), 4: waiting(frames=receiving)}))

    def test_what_it_does_before_where_in_a_library(self):
        """The functions of libraries go first where the line is too long."""
        torch = "/venv/lib/python3.11/site-packages/torch/"
        waits = [native("c10d::Reducer::finalize_backward", "libtorch.so"),
                 python("Tensor.backward_with_a_long_name", 623, torch + "_tensor.py"),
                 python("train_step", 34), python("<module>", 45), *ENTRY]
        stopped = [native("os_kill", "python3.11"), python("train_step", 25),
                   python("<module>", 45), *ENTRY]
        self.expect(r"^rank 1 \S+ train_step train\.py:25, is stopped; 3 others: train_step$",
                    job(4, {1: waiting(frames=stopped, state="stopped")},
                        main=lambda: waiting(frames=waits)))

    def test_where_only_libraries_tell(self):
        def one(name):
            return waiting(frames=[native("wait", "libx.so"), native(name, "libx.so"),
                                   python("train_step", 34), python("<module>", 45), *ENTRY])
        self.expect(r"^rank 1 \S+ train_step train\.py:34 > odd_place; 3 others: even_place$",
                    job(4, {1: one("odd_place")}, main=lambda: one("even_place")))

    def test_wrappers_are_passed_over(self):
        torch = "/venv/lib/python3.11/site-packages/torch/"
        def one(name):
            return waiting(frames=[
                native("std::condition_variable::wait", "libtorch.so"),
                python(name, 4181, torch + "distributed_c10d.py"),
                python("_exception_logger.<locals>.wrapper", 83, torch + "c10d_logger.py"),
                python("train_step", 34), python("<module>", 45), *ENTRY])
        said = self.expect(r"^rank 1 .*train_step train\.py:34 > broadcast; 3 others: all_reduce$",
                           job(4, {1: one("broadcast")}, main=lambda: one("all_reduce")))
        self.assertNotIn("wrapper", said.text)
        self.assertNotIn("std::", said.text)

    def test_a_thread_of_one(self):
        def threads(odd):
            where = [native("read"), python("fetch", 88), python("feed", 80)] if odd else [
                native("sem_wait"), python("Queue.get", 171, "/usr/lib/python3.11/queue.py"),
                python("feed", 80)]
            call = {"call": "read", "path": "/data/x", "kind": None} if odd else {
                "call": "futex", "path": "", "kind": "condition"}
            return [waiting(), thread(2, where, name="feed", **call)]
        dumps = [dump([process(rank, threads(rank == 9), world=16)]) for rank in range(16)]
        self.expect(r"^rank 9 .*: a thread in fetch train\.py:88, in read", dumps)

    def test_an_absent_one(self):
        said = self.expect("^rank 5 of 8 sent nothing; 7 others: all_reduce train.py:9",
                           job(8, absent=[5]))
        self.assertIn("1 of 8 ranks sent nothing: 5\n", said.text)

    def test_many_absent_ones_beside_the_odd_one(self):
        said = self.expect("^rank 17 .*; 58 others: ",
                           job(64, {17: loading()}, absent=[3, 9, 10, 11, 60]))
        self.assertIn("5 of 64 ranks sent nothing: 3, 9-11, 60\n", said.text)

    def test_helpers_have_their_parents_rank(self):
        worker = [native("read"), python("worker", 91)]
        dumps = [dump([process(rank, [loading() if rank == 3 else waiting()], world=4),
                       process(rank, [thread(9, worker)], pid=5000 + rank, inherits_rank=True)])
                 for rank in range(4)]
        said = self.expect("^rank 3 ", dumps)
        self.assertNotIn("sent nothing", said.text)

    def test_a_second_job_in_the_same_dump(self):
        dumps = [dump([process(rank, [loading() if rank == 3 else waiting()], world=4, pid=pid)
                       for rank in range(4) for pid in (100 + rank, 200 + rank)])]
        said = self.expect("^rank 3 ", dumps)
        self.assertIn("4 processes of a second job here? Other processes have these ranks.",
                      " ".join(said.text.split()))
        self.assertEqual(self.as_json["twice"], 4)

    def test_a_launcher_is_no_rank(self):
        launcher = process(None, [thread(1, [native("wait4"), python("wait", 3)], call="wait4",
                                         path="", kind="child")], pid=1)
        ranks = [process(None, [loading() if i == 2 else waiting()], pid=10 + i,
                         command=("python3", "train.py", f"--rank={i}")) for i in range(4)]
        self.expect("^process 12 ", [dump([launcher, *ranks])])


class Alike(JobTest):
    """What must not tell ranks apart, and jobs that go on."""

    def test_a_healthy_job(self):
        places = [waiting(ran=True), loading(), waiting(frames=[python("forward", 3), *ENTRY],
                                                        state="running", ran=True, call=None)]
        for one in places:
            one["ran"] = True
        self.expect_nobody([dump([process(rank, [places[rank % 3]], world=9)])
                            for rank in range(9)])

    def test_all_wait_alike(self):
        self.expect("^all 8 ranks do the same: all_reduce train.py:9", job(8))

    def test_lines_of_a_loop(self):
        def frames(rank):
            return [native("recv"), python("all_reduce", 9 + rank % 4), *ENTRY]
        self.expect_nobody([dump([process(rank, [waiting(frames=frames(rank))], world=8)])
                            for rank in range(8)])

    def test_inlining_recursion_and_what_compilers_add(self):
        def frames(rank):
            body = [native("poll", LIBC), native("progress.part.3" if rank % 2 else "progress",
                                                 "libmpi.so.40")]
            body += [native("Barrier", "solve", 4, **({"inlined": True} if rank % 3 else {}))]
            body += [native("walk", "solve", 7)] * (1 + rank % 3)
            body += [native(f"libx.so+0x{rank}00", "libx.so")]
            if rank == 5:
                del body[2]
            return body + [native("main", "solve"), *ENTRY]
        self.expect_nobody([dump([process(rank, [thread(1, frames(rank), call="poll", path="",
                                                        kind="poll")], world=12)])
                            for rank in range(12)])

    def test_thread_counts(self):
        idle = [native("futex"), native("worker_loop", "libpool.so"), native("start_thread")]
        dumps = [dump([process(rank, [waiting()] + [thread(10 + i, idle, call="futex", path="",
                                                           kind="condition")
                                                    for i in range(rank)], world=8)])
                 for rank in range(8)]
        self.expect_nobody(dumps)

    def test_ranks_that_spin_while_they_wait(self):
        def frames(rank):
            return [native(f"poll_{rank}", "libmpi.so"), native("PMPI_Allreduce", "libmpi.so"),
                    native("solve", "solver"), native("main", "solver"), *ENTRY]
        spins = {rank: thread(1, frames(rank), state="running", call=None, kind=None, ran=True)
                 for rank in range(8)}
        self.expect_nobody(job(8, spins))
        self.expect("^rank 4 ", job(8, {**spins, 4: loading()}))


class Spinning(JobTest):
    """Ranks that spin in all looks only wait, as MPI's do: one look is enough."""

    def spinning(self, function, line, **how):
        frames = [native("poll", "libmpi.so"), native("PMPI_Allreduce", "libmpi.so"),
                  python(function, line), python("<module>", 30), *ENTRY]
        spins = thread(1, frames, state="running", call=None, kind=None, ran=True)
        return {"spun": True, **spins, **how}

    def test_one_in_another_collective(self):
        self.expect("^rank 3 .*: evaluate train.py:8, runs; 7 others: train_step",
                    job(8, {3: self.spinning("evaluate", 8)},
                        main=lambda: self.spinning("train_step", 19)))
        self.expect("^rank 3 .*: train_step train.py:21.*; 7 others: train_step train.py:19",
                    job(8, {3: self.spinning("train_step", 21)},
                        main=lambda: self.spinning("train_step", 19)))

    def test_all_in_one(self):
        self.expect("^all 8 ranks do the same: train_step train.py:19, spins$",
                    job(8, main=lambda: self.spinning("train_step", 19)))

    def test_who_was_not_seen_at_it_is_not_elsewhere(self):
        runs = dict(self.spinning("train_step", 19), spun=False)
        runs["frames"] = runs["frames"][1:]
        self.expect("^all 8 ranks do the same", job(8, {3: runs}, main=lambda: self.spinning(
            "train_step", 19)))

    def test_who_runs_in_another_line(self):
        runs = thread(1, [python("train_step", 17), python("<module>", 30), *ENTRY],
                      state="running", call=None, kind=None, ran=True)
        self.expect("^rank 3 .*: train_step train.py:17, runs; 7 others: train_step train.py:19",
                    job(8, {3: runs}, main=lambda: self.spinning("train_step", 19)))

    def test_most_ran(self):
        self.expect_nobody(job(8, {i: dict(self.spinning(f"at_{i}", 19), spun=False)
                                   for i in range(5)}, main=lambda: self.spinning("step", 19)))

    def test_one_waits_for_a_cpu(self):
        self.expect("^rank 3 .*: step .*in read; 7",
                    job(8, {3: loading()}, main=lambda: self.spinning(
                        "train_step", 19, state="runnable")))


class Map(JobTest):
    """--map, and what ranks have in common."""

    def mapped(self, text, *args):
        pathlib.Path("map").write_text(text, encoding="utf-8")
        return report(*args, "--map", "map")

    def test_dimensions(self):
        write(pathlib.Path("dumps"), job(16, {1: loading(), 5: loading(), 9: loading(),
                                              13: loading()}, per_host=8))
        said = self.mapped("".join(f"{rank} dp={rank // 4} tp={rank % 4} # x\n"
                                   for rank in range(16)), "dumps")
        self.assertIn("  4 ranks: 1, 5 (node0), 9, 13 (node1): all with tp=1\n", said.text)

    def test_hosts_and_local_ranks(self):
        said = self.expect("^4 ranks 4 … 7 ", job(16, {rank: loading() for rank in range(4, 8)}))
        self.assertIn("  4 ranks: 4-7 (node1): all of node1\n", said.text)
        dumps = [dump([process(rank, [loading() if rank % 4 == 2 else waiting()], world=12,
                               local_rank=str(rank % 4))], host=f"node{rank // 4}")
                 for rank in range(12)]
        said = self.expect("^3 ranks 2 … 10: ", dumps)
        self.assertIn(": all with local rank 2\n", said.text)

    def test_ranks_of_inputs_and_pids(self):
        texts = {"a.txt": "load", "b.txt": "reduce", "c.txt": "reduce"}
        for name, function in texts.items():
            pathlib.Path(name).write_text(TEXT.format(pid=7, name=function, line=4),
                                          encoding="utf-8")
        said = self.mapped("a.txt rank=2 host=n1\nb.txt rank=0 host=n0\nn1:7 rank=1\n"
                           "c.txt host=n3 rank=3", *texts)
        self.assertRegex(said.first, r"^rank 2 of 4 sent nothing; rank 1 \(n1\): load .*; 2 others")
        self.assertIn("1 of 4 ranks sent nothing: 2\n", said.text)

    def test_files_that_are_none(self):
        pathlib.Path("good").write_text("{}", encoding="utf-8")
        for text, code, words in (("0 tp=\n", 2, "map:1: not a rank, HOST:PID or file name"),
                                  ("1 a=b\n\n# c\nrank", 0, ""), ("x rank=-1", 2, "map:1"),
                                  (None, 1, "cannot read map: No such file")):
            pathlib.Path("map").unlink(missing_ok=True)
            if text is not None:
                pathlib.Path("map").write_text(text, encoding="utf-8")
            done = subprocess.run([programs["wallspy"], "report", "--map", "map", "good"],
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, code or 6, text)
            self.assertIn(words, done.stderr.decode())


class Chains(JobTest):
    """Who waits for whom, within a host and across."""

    def ring(self, n, odd, waits):
        """Each waits for the one before; WAITS: does ODD, too, and for whom?"""
        def ends(rank):
            return (f"10.0.{rank // 4}.1:{7000 + rank}",
                    f"10.0.{(rank + 1) % n // 4}.1:{8000 + rank}")
        dumps = []
        for rank in range(n):
            before, after = ends((rank - 1) % n), ends(rank)
            main = waiting()
            main["waits_for"] = {"kind": "socket", "remote": before[0]}
            if rank == odd:
                main["waits_for"] = {"kind": "socket", "remote": waits or "192.0.2.1:443"}
            dumps.append(dump([process(rank, [main], world=n, connections=[
                {"local": before[1], "remote": before[0]},
                {"local": after[0], "remote": after[1]}])], host=f"node{rank // 4}"))
        return dumps

    def test_the_end_of_a_chain_across_hosts(self):
        said = self.expect(r"^rank 5 .*; 11 others wait for it$", self.ring(12, 5, None))
        self.assertEqual(said.lines[1:3], [
            "  11 ranks wait, straight or through others, for rank 5 (node1), which waits",
            "    for 192.0.2.1:443, of no dump"])
        self.assertEqual(self.as_json["waits_end"]["outside"], "192.0.2.1:443")

    def test_a_circle_across_hosts(self):
        back = "10.0.1.1:8005"  # rank 5 waits for rank 6
        said = self.expect(r"^2 ranks 5, 6 .*; 10 others wait for them$", self.ring(12, 5, back))
        self.assertIn("for rank 5 (node1), rank 6 (node1), which wait in a circle",
                      " ".join(said.text.split()))

    def test_through_threads_and_processes_of_a_host(self):
        def threads(rank):
            main = waiting(10 * rank + 1, kind="join")
            main["waits_for"].update(pid=1000 + rank, tid=10 * rank + 2)
            other = thread(10 * rank + 2, [native("recv"), python("relay", 3)])
            if rank != 2:
                other["waits_for"]["pid"] = 1000 + (rank + 1) % 6
            return [main, other]
        said = self.expect("^rank 2 .*; 5 others wait for it$",
                           [dump([process(rank, threads(rank), world=6) for rank in range(6)])])
        self.assertIn("5 ranks wait, straight or through others, for rank 2 (node0)", said.text)


class Rounds(JobTest):
    """Two dumps of each rank: what moved meanwhile."""

    def two(self, first, second):
        return job(8, first) + job(8, second, time="2026-11-28T09:00:30Z")

    def busy(self, line):
        frames = [python("compute", line), python("step", 20), python("<module>", 30), *ENTRY]
        return thread(1, frames, state="running", call=None, kind=None, ran=True)

    def test_one_is_slow(self):
        said = self.expect(r"^rank 2 .*: compute train\.py:7, runs, moves; 7 others: all_reduce",
                           self.two({2: self.busy(6)}, {2: self.busy(7)}))
        self.assertIn("runs; between the rounds moved\n", said.text)
        self.assertIn("in recvfrom of a socket; between the rounds got no CPU\n", said.text)
        self.assertIn(", 2 rounds\n", said.text)

    def test_one_is_stuck(self):
        self.expect("^rank 2 .*, in read, no CPU; 7 others: all_reduce",
                    self.two({2: loading()}, {2: loading()}))
        self.expect("^rank 2 .*, runs, does not move; 7 others: all_reduce",
                    self.two({2: self.busy(6)}, {2: self.busy(6)}))

    def test_all_move_on_though_each_look_finds_them_blocked(self):
        later = [python("step", 27) if f["name"] == "step" else f for f in waiting()["frames"]]
        second = {rank: waiting(frames=later) for rank in range(8)}
        self.expect_nobody(self.two({2: loading()}, second))

    def test_ranks_spin_in_both_rounds(self):
        spins = {rank: thread(1, [native("progress", "libmpi.so"), python("all_reduce", 9),
                                  python("<module>", 30), *ENTRY], state="running", call=None,
                              kind=None, ran=True) for rank in range(8)}
        spins[6] = self.busy(5)
        self.expect_nobody(job(8, spins))
        self.expect("^rank 6 .*does not move; 7 others: all_reduce", self.two(spins, spins))
        self.expect("^rank 6 .*, moves; 7 others: all_reduce",
                    self.two(spins, {**spins, 6: self.busy(9)}))
        self.expect_nobody(self.two({**spins, 6: spins[0]}, spins))

    def test_rounds_in_any_order(self):
        dumps = self.two({2: self.busy(6)}, {2: loading()})
        self.expect("^rank 2 .*load_batch", list(reversed(dumps)))


class Bounds(JobTest):
    """However large a job is, an answer for an agent is short."""

    def test_ranks_as_ranges(self):
        write(pathlib.Path("dumps"), job(16, {5: loading(), 6: loading(), 9: loading()},
                                         absent=[3, 12]))
        said = document("dumps")
        self.assertEqual([c["ranks"] for c in said["classes"]],
                         ["5-6,9", "0-2,4,7-8,10-11,13-15"])
        self.assertEqual((said["absent_ranks"], said["n_absent"], said["absent"]),
                         ("3,12", 2, [3, 12]))
        self.assertEqual((said["n_classes"], said["n_inputs"], said["n_wrong"]), (2, 14, 0))

    def test_lists_are_cut_and_counts_are_not(self):
        lines = "".join(json.dumps(one) + "\n" for one in job(3000, {7: loading()}, absent=range(
            1000, 2001, 1)))
        said = document("-", stdin=lines.encode())
        self.assertEqual(list(violations(said, SCHEMA)), [])
        most = said["classes"][-1]
        self.assertEqual((most["n"], len(most["members"]), most["ranks"]),
                         (1998, 1000, "0-6,8-999,2001-2999"))
        self.assertEqual((said["n_absent"], len(said["absent"]), said["absent_ranks"]),
                         (1001, 1000, "1000-2000"))

    def test_of_many_classes_those_that_count(self):
        def at(rank):
            frames = [python(f"place_{rank}", 7), python("<module>", 30), *ENTRY]
            return loading() if rank == 90 else waiting(frames=frames)
        dumps = [dump([process(rank, [at(rank % 100 if rank < 150 else 0)], world=300)])
                 for rank in range(300)]
        lines = "".join(json.dumps(one) + "\n" for one in dumps).encode()
        said = document("-", stdin=lines)
        self.assertEqual(said["n_classes"], 100)
        self.assertLessEqual(len(said["classes"]), 65)
        self.assertEqual([c["members"][0]["rank"] for c in said["classes"] if c["odd"]], [90])
        brief = report("--brief", "-", stdin=lines)
        self.assertLessEqual(len(brief.lines), 12)
        self.assertIn("  1 rank: 90 (node0, pid 1090): step train.py:19 > load_batch, in read\n",
                      brief.text)
        self.assertIn(" ranks in 95 other places: --json\n", brief.text)

    def test_brief(self):
        good = job(8, {3: loading()}, absent=[6])
        bad = ["no dump", "{", "[", '{"schema":"dump/1"}']
        folder = pathlib.Path("dumps")
        write(folder, good + bad)
        self.assertEqual(report(folder, "--brief").lines, [
            "rank 3 (node0): load_batch train.py:5, in read; 6 others: all_reduce train.py:9",
            "  1 rank: 3 (node0, pid 1003): load_batch train.py:5, in read",
            "  6 ranks: 0-2 (node0), 4, 5, 7 (node1): all_reduce train.py:9, in recvfrom",
            "1 of 8 ranks sent nothing: 6",
            "11 inputs, 11 dumps, 7 processes; not read to the end: 4",
            "  dumps/00007.json: it is no dump of wallspy (--json) or py-spy; dumps/00008.j…"])


class Garbled(JobTest):
    """Counted and named, never fatal."""

    def test_each_kind(self):
        good = job(4, {1: loading()})
        cut = json.dumps(job(6)[5])
        bad = ["no dump at all\n", cut[:-60], "\x00\xff\x01" * 50, '{"schema":"other/1","a":[1]}',
               '{"schema":"dump/1","processes":[{"pid":}]}', "[" * 1000, "", "[1,[2],{}]",
               '{"schema":"dump/1","processes":[]}']
        said = self.expect("^rank 1 ", good + bad)
        self.assertIn(f"not read to the end: {len(bad)}\n", said.text)
        self.assertIn("00004.json: it is no dump of wallspy (--json) or py-spy\n", said.text)
        self.assertRegex(said.text, r"00005\.json: it ends too early\n")

    def test_a_dump_that_is_cut_has_the_threads_before(self):
        whole = json.dumps(dump([process(3, [loading(), waiting(2)], world=4)]))
        said = self.expect("^rank 3 ", job(3) + [whole[:-200]])
        self.assertNotIn("sent nothing", said.text)

    def test_the_next_dump_of_a_stream_is_found(self):
        lines = [json.dumps(one) for one in job(6, {2: loading()})]
        lines[4] = lines[4][:300]
        lines.insert(1, "srun: error: node7: task 9: Killed")
        said = report("-", stdin="\n".join(lines).encode())
        self.assertRegex(said.first, "^rank 2 ")
        self.assertIn("1 of 6 ranks sent nothing: 4\n", said.text)

    def test_compressed_bytes_that_are_damaged(self):
        write(pathlib.Path("dumps"), job(4, {1: loading()}), compressed=True)
        victim = pathlib.Path("dumps/00003.json.gz")
        victim.write_bytes(victim.read_bytes()[:150])
        said = report("dumps")
        self.assertRegex(said.first, "^rank 1 ")
        self.assertIn("not read to the end: 1\n", said.text)

    def test_compressed_bytes_that_are_cut(self):
        write(pathlib.Path("dumps"), job(4, {1: loading()}), compressed=True)
        victim = pathlib.Path("dumps/00003.json.gz")
        victim.write_bytes(victim.read_bytes()[:-20])
        self.assertIn("  dumps/00003.json.gz: its compressed bytes end too early\n",
                      report("dumps").text)

    def test_forms_mixed_in_one_input(self):
        lines = [json.dumps(one) for one in job(6, {3: loading()})]
        text = TEXT.format(pid=9, name="all_reduce", line=9)
        mixed = "\n".join([lines[0], text, lines[1], '[{"pid":8,"frames":[]}]', *lines[2:4], "junk",
                           json.dumps({"schema": "report/1", "classes": []}), *lines[4:], "{"])
        said = report("-", stdin=mixed.encode())
        self.assertRegex(said.first, "^rank 3 ")
        self.assertIn("2 processes without a rank, and not compared\n", said.text)
        self.assertIn("1 input, 11 dumps, 8 processes; not read to the end: 1\n", said.text)

    def test_links_in_circles(self):
        folder = pathlib.Path("dumps")
        write(folder / "a" / "b", job(4, {1: loading()}))
        (folder / "again").symlink_to("a")
        (folder / "a" / "b" / "up").symlink_to("../..")
        (folder / "self").symlink_to("self")
        (folder / "copy.json").symlink_to("a/b/00002.json")
        said = report(folder)
        self.assertRegex(said.first, "^rank 1 ")
        self.assertIn("8 inputs, 4 dumps, 4 processes; not read to the end: 4\n", said.text)
        for line in ("  dumps/a/b/up: it was read before\n", "  dumps/again: it was read before\n",
                     "  dumps/copy.json: it was read before\n",
                     "  dumps/self: Too many levels of symbolic links\n"):
            self.assertIn(line, said.text)

    def test_what_is_no_file(self):
        folder = pathlib.Path("dumps")
        write(folder, job(4, {1: loading()}))
        os.mkfifo(folder / "pipe")
        (folder / "zero").symlink_to("/dev/zero")
        deep = folder / "/".join("123456789")
        deep.mkdir(parents=True)
        said = report(folder, "/dev/zero", "/dev/null")
        for line in ("  dumps/pipe: it is no regular file\n",
                     "  dumps/zero: it is no regular file\n",
                     "  dumps/1/2/3/4/5/6/7/8: it is too deep below\n",
                     "  /dev/zero: there is no dump in 64 MiB of it\n",
                     "  /dev/null: it is empty\n"):
            self.assertIn(line, said.text)
        self.assertRegex(said.first, "^rank 1 ")

    def test_streams_that_never_end(self):
        for begin, again in (b"", b"y\n"), (b'{"schema":"dump/1","processes":[{}', b",{}"), (
                b'{"schema":"dump/1","processes":[{"threads":[{"frames":[{}', b",{}"), (
                b"[", b"["), (b'"', b"x"), (b'[{"frames":[{}', b",{}"):
            command = [sys.executable, "-c", "import sys\nsys.stdout.buffer.write(%r)\n"
                       "while 1: sys.stdout.buffer.write(%r * 99999)" % (begin, again)]
            with self.subTest(begin), subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as endless:
                done = subprocess.run([programs["wallspy"], "report", "-"], stdin=endless.stdout,
                                      capture_output=True, timeout=60, check=False)
                endless.kill()
                self.assertEqual(done.returncode, 6)
                self.assertIn(b"standard input: there is no dump in 64 MiB of it", done.stdout)

    def test_many_files_of_which_half_are_garbage(self):
        folder = pathlib.Path("dumps")
        dumps = job(5000, {4711: loading()}, per_host=8)
        bad = ["", "junk\n", "{", "\x1f\x8b", '{"schema":"dump/1"', "[1,2"]
        write(folder, [one for i, good in enumerate(dumps) for one in (good, bad[i % len(bad)])])
        said = report(folder)
        self.assertRegex(said.first, "^rank 4711 ")
        self.assertIn("10000 inputs, ", said.text)
        self.assertIn(" 5000 processes; not read to the end: 5000\n", said.text)
        self.assertIn("  and 4992 more: --json\n", said.text)

    def test_exit_codes(self):
        pathlib.Path("nobody").write_text("[]", encoding="utf-8")
        pathlib.Path("garbled").write_text("nothing", encoding="utf-8")
        pathlib.Path("empty").mkdir()
        self.assertEqual(report("nobody").code, 6)
        self.assertEqual(document("garbled")["inputs"][0]["processes"], 0)
        done = subprocess.run([programs["wallspy"], "report", "garbled"], capture_output=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (6, b""))
        self.assertIn("garbled is no recording, no dump and no speedscope file",
                      done.stderr.decode().replace("\n", " "))
        self.assertEqual(report("empty").code, 1)
        self.assertEqual(report("missing").code, 1)
        self.assertIn("missing: No such file or directory\n", report("missing").text)
        with open("/dev/full", "w", encoding="utf-8") as full:
            for options in [], ["--json"]:
                done = subprocess.run([programs["wallspy"], "report", "nobody", *options],
                                      stdout=full, stderr=subprocess.DEVNULL, check=False)
                self.assertEqual(done.returncode, 1)


class Page(unittest.TestCase):
    def test_it_has_each_key(self):
        page = (DOCS / "fleet.md").read_text(encoding="utf-8")
        self.assertEqual([key for key in keys(SCHEMA) if f"`{key}`" not in page], [])


if __name__ == "__main__":
    main(__doc__, "wallspy")
