"""--subprocesses: which processes are in the file, what is said of the others, and that no child
notices.

usage: subprocesses.py WALLSPY DENY TARGET [unittest's arguments]
"""
import ctypes
import multiprocessing
import os
import pathlib
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

from support.cases import FolderTest
from support.outcome import main
from support.programs import AS_USER, IS_ROOT, UID, USER, programs
from support.recording import Recording
from support.unharmed import assert_let_go
from support.wallspy import run

LIVE_S = 0.8  # longer than it takes to find a child on a busy machine


def live(seconds=LIVE_S):
    """On a CPU now and then, so that it is seen to live."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)


def log(what):
    """One write: lines of several processes do not mix."""
    os.write(1, f"{what} {os.getpid()}\n".encode())


def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def ways():
    """A child by each way to make one.  Prints who is to be in the file."""
    log("root")

    def forked():
        log("fork")
        live()

    def parent_of_parent():
        log("depth1")
        pid = child(lambda: (log("depth2"), live()))
        os.waitpid(pid, 0)

    def daemon():
        """Seen before its parent ends."""
        log("between")
        child(lambda: (log("daemon"), live(3 * LIVE_S)))
        live()
    pids = [child(forked), child(parent_of_parent), child(daemon)]
    shell = f"echo shell $$; sleep {LIVE_S} & echo sleep $!; sleep {LIVE_S} | cat; wait"
    pids.append(os.posix_spawn("/bin/sh", ["sh", "-c", shell], os.environ))
    with subprocess.Popen(["sh", "-c", f"echo vfork $$; exec sleep {LIVE_S}"]):
        pass
    for pid in pids:
        os.waitpid(pid, 0)
    live(1.5 * LIVE_S)


def short(n):
    """Many short lives, of which some fork: each must come to its end as if alone."""
    for i in range(int(n)):
        done = subprocess.run(["sh", "-c", f"(exit {i % 7}); exit $?"], check=False)
        assert done.returncode == i % 7
    print("done")


def brief(seconds):
    """Some 100 children a second that burn 4 ms each; every 25th goes on for half a second.  Prints
    the pids of those, and what all children have used."""
    end = time.monotonic() + float(seconds)
    pids = []
    n = 0
    while time.monotonic() < end:
        n += 1
        if n % 25 == 0:
            pids.append(child(lambda: live(0.5)))
        os.waitpid(child(lambda: burn(0.004)), 0)
        time.sleep(0.004)
    for pid in pids:
        os.waitpid(pid, 0)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(os.getpid(), usage.ru_utime + usage.ru_stime, *pids, flush=True)
    live(1.5)


def burn(seconds):
    while time.process_time() < seconds:
        pass


def square(x):
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    return x * x


def pool(how):
    context = multiprocessing.get_context(how)
    with context.Pool(4, maxtasksperchild=5) as workers:
        assert workers.map(square, range(100), chunksize=1) == [x * x for x in range(100)]
    print("done")


def family(n):
    """N busy children, and one that sleeps, until killed.  Each is at its work before "ready": a
    signal that comes right after a fork, Python's child forgets."""
    begun, begins = os.pipe()

    def begin(work):
        os.write(begins, b".")
        work()
    for _ in range(int(n)):
        child(lambda: begin(lambda: live(60)))
    child(lambda: begin(lambda: time.sleep(60)))
    for _ in range(int(n) + 1):
        os.read(begun, 1)
    log("ready")
    os.wait()


def with_a_child_of_root():
    """This process belongs to the user that it became, its child still to root."""
    child(lambda: time.sleep(60))
    os.setgroups([])
    os.setgid(pwd.getpwnam(USER).pw_gid)
    os.setuid(UID)
    ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE, which setuid(2) cleared
    child(lambda: time.sleep(60))
    log("ready")
    os.wait()


def named():
    """A rank with a worker that gives itself a name, and one that gives itself a title."""
    def call(name):
        ctypes.CDLL(None).prctl(15, name)  # PR_SET_NAME

    def entitled():
        """As setproctitle does, where the arguments were."""
        libc = ctypes.CDLL(None)
        fields = pathlib.Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()
        start, end = int(fields[45]), int(fields[46])
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, b"server: worker [app]", 20)
        libc.prctl(15, b"server: worker [app]")
        live()
    pids = [child(lambda: (call(b"pt_data_worker"), live())), child(entitled)]
    print(os.getpid(), *pids)
    for pid in pids:
        os.waitpid(pid, 0)


def ranks():
    """Workers that are given their ranks after they were forked; one has a worker of its own."""
    def rank(number):
        os.environ["RANK"] = str(number)
        log(number)
        live()

    def parent():
        os.environ["RANK"] = "1"
        log(1)
        os.waitpid(child(lambda: (log("worker"), live())), 0)
    for pid in [child(lambda: rank(0)), child(parent)]:
        os.waitpid(pid, 0)


def descendants(pid):
    found = [pid]
    for parent in found:
        for task in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


class Subprocesses(FolderTest):
    def record(self, *command, options=()):
        """Returns the exit code, what COMMAND and wallspy said, and the file's facts."""
        code, out, text, _ = run("-s", *options, "-o", "o.json", "--", *command, user=False)
        facts = Recording("o.json").facts
        return code, out, text, facts

    def start(self, *how, user=False):
        line = [*(AS_USER if user else []), sys.executable, __file__, *map(str, how)]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        self.assertEqual(process.stdout.readline().split()[0], "ready")
        return process

    def expect_ways(self):
        code, out, text, facts = self.record(sys.executable, __file__, "ways")
        self.assertEqual(code, 0, text)
        told = dict(line.split() for line in out.splitlines())
        self.assertEqual(set(told), {"root", "fork", "depth1", "depth2", "between", "daemon",
                                     "shell", "sleep", "vfork"})
        sampled = {t["pid"] for t in facts["threads"] if t["samples"] > 0}
        missing = {what for what, pid in told.items() if int(pid) not in sampled}
        self.assertEqual(missing, set(), text)
        self.assertEqual(len({p["pid"] for p in facts["processes"]}), len(facts["processes"]))

    def test_each_way_to_make_a_child(self):
        self.expect_ways()

    def test_without_files_of_children(self):
        os.environ["WALLSPY_NO_PROC_CHILDREN"] = "1"
        self.addCleanup(os.environ.pop, "WALLSPY_NO_PROC_CHILDREN")
        self.expect_ways()

    def test_line_of_the_blog(self):
        pathlib.Path("x.py").write_text(f"""import os, time
if os.fork() == 0:
    time.sleep({LIVE_S})
    os._exit(0)
os.wait()
""", encoding="utf-8")
        code, _, text, _ = run(*"record -sti --rate 10 --format speedscope --native -o output.json "
                               "--".split(), sys.executable, "x.py", user=False)
        self.assertEqual(code, 0, text)
        facts = Recording("output.json").facts
        self.assertEqual(len(facts["processes"]), 2)

    def test_a_file_for_each(self):
        code, out, text, _ = run("-s", "-o", "o-%p.json", "--", "sh", "-c",
                                 f"echo $$; sleep {LIVE_S} & echo $!; sleep {LIVE_S}; wait",
                                 user=False)
        self.assertEqual(code, 0, text)
        for pid in out.split():
            facts = Recording(f"o-{pid}.json").facts
            self.assertEqual({t["pid"] for t in facts["threads"]}, {int(pid)})
        self.assertEqual(len(list(pathlib.Path().glob("o-*.json"))), 3)

    def test_names(self):
        os.environ["RANK"] = "3"
        self.addCleanup(os.environ.pop, "RANK")
        done = subprocess.run([programs["wallspy"], "-s", "-v", "-o", "o.json", "--",
                               sys.executable, __file__, "named"], capture_output=True, text=True,
                              check=True)
        text = done.stderr
        rank, worker, entitled = done.stdout.split()
        written = Recording("o.json")
        profiles, facts = [line.name for line in written.lines], written.facts
        self.assertEqual(profiles[:3], ["ALL active | wall", "ALL | cpu", "ALL | off-cpu"])
        self.assertEqual(set(profiles[3:6]), {"ALL rank3 | wall",
                                              f"ALL pt_data_worker {worker} | wall",
                                              f"ALL server: worker [app] {entitled} | wall"})
        for name in (f"rank3 main {rank}", f"pt_data_worker {worker} main"):
            self.assertIn(f"{name} | wall", profiles)
        by_pid = {str(p["pid"]): p for p in facts["processes"]}
        self.assertEqual([by_pid[pid].get("rank") for pid in (rank, worker, entitled)],
                         [3, None, None])
        self.assertIn("pt_data_worker", (by_pid[worker]["comm"], by_pid[worker].get("title")))
        self.assertEqual(by_pid[entitled]["title"], "server: worker [app]")
        self.assertEqual(by_pid[worker]["parent_pid"], int(rank))
        threads = [t for t in facts["threads"] if str(t["pid"]) == worker]
        for key in ("run_ns", "wait_cpu_ns", "blocked_ns"):
            self.assertEqual(by_pid[worker][key], sum(t[key] for t in threads))
        self.assertRegex(text, rf"\n  rank3 [\d. ]+\n    pt_data_worker {worker} ")

    def test_ranks_that_are_set_later(self):
        """In the worker itself, so that /proc does not show them."""
        code, out, text, facts = self.record(sys.executable, __file__, "ranks",
                                             options=["-o", "r%q{RANK}.json"])
        self.assertEqual(code, 0, text)
        pids = dict(line.split() for line in out.splitlines())
        found = {str(p["rank"]): str(p["pid"]) for p in facts["processes"] if "rank" in p}
        self.assertEqual(found, {"0": pids["0"], "1": pids["1"]})
        for rank, wanted in (("0", {pids["0"]}), ("1", {pids["1"], pids["worker"]})):
            facts = Recording(f"r{rank}.json").facts
            self.assertEqual({str(p["pid"]) for p in facts["processes"]}, wanted)

    def test_a_file_for_each_rank(self):
        """With whom it started; all have ended when the files are written."""
        inner = f"echo $RANK $$; sleep {LIVE_S} & echo $RANK $!; wait"
        code, out, text, _ = run("-s", "-o", "r%q{RANK}.json", "--", "sh", "-c",
                                 f"RANK=0 sh -c '{inner}' & RANK=1 sh -c '{inner}' & wait",
                                 user=False)
        self.assertEqual(code, 0, text)
        self.assertEqual(len(list(pathlib.Path().iterdir())), 2)
        for rank in "01":
            pids = {int(line.split()[1]) for line in out.splitlines() if line[0] == rank}
            facts = Recording(f"r{rank}.json").facts
            self.assertEqual({p["pid"] for p in facts["processes"]}, pids)
            self.assertEqual(len(pids), 2)
        self.assertRegex(text, r"no file for \d+: %q\{RANK\}: the environment of \d+ has no such")

    def test_a_folder_of_one_rank_is_missing(self):
        os.mkdir("r0")
        sleeps = f"sleep {LIVE_S}"
        _, _, text, _ = run("-s", "-o", "r%q{RANK}/o.json", "--", "sh", "-c",
                            f"RANK=0 {sleeps} & RANK=1 {sleeps} & wait", user=False)
        self.assertEqual(len(Recording("r0/o.json").facts["processes"]), 1)
        (other,) = pathlib.Path().glob("wallspy-*.json")
        self.assertEqual(len(Recording(other).facts["processes"]), 1)
        said = " ".join(text.split())
        self.assertIn("cannot write r1/o.json: r1/: No such file or directory.", said)
        self.assertIn(f"Processes whose files cannot be written are in {other}.", said)

    def test_no_process_has_the_variable(self):
        code, _, text, _ = run("-s", "-o", "r%q{NO_SUCH}.json", "--", "sleep", str(LIVE_S),
                               user=False)
        self.assertEqual(code, 0, text)
        (found,) = pathlib.Path().iterdir()
        self.assertRegex(found.name, r"^wallspy-sleep-\d+-[-\d]+\.json$")
        self.assertIn("no process has the variables of r%q{NO_SUCH}.json: all are in "
                      f"{found.name}", " ".join(text.split()))

    def test_attached_to_a_launcher(self):
        """It says so within two seconds, and whom it samples."""
        process = self.start("family", 2)
        tree = set(descendants(process.pid))
        line = [programs["wallspy"], "-s", "-p", str(process.pid), "-d", "4", "-o", "o.json"]
        began = time.monotonic()
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as wallspy:
            first = wallspy.stderr.readline() + wallspy.stderr.readline()
            after = time.monotonic() - began
            wallspy.communicate()
        self.assertIn(f"{process.pid} (python", first)
        self.assertIn("only waits for its children: sampling", " ".join(first.split()))
        self.assertLess(after, 3.5)  # 2 s on a quiet machine
        facts = Recording("o.json").facts
        self.assertEqual({p["pid"] for p in facts["processes"]}, tree)

    def test_attached_until_all_have_ended(self):
        """Also where who was named ends first."""
        line = f"sleep {2 * LIVE_S} & sleep {LIVE_S}; echo ready"
        with subprocess.Popen(["sh", "-c", line], stdout=subprocess.DEVNULL) as shell:
            began = time.monotonic()
            code, _, text, _ = run("-s", "-p", shell.pid, "-o", "o.json", user=False)
        self.assertEqual(code, 0, text)
        self.assertGreater(time.monotonic() - began, 1.5 * LIVE_S)

    def test_status_is_passed_on_and_who_is_left_is_said(self):
        code, out, text, _ = self.record("sh", "-c", f"sleep 5 >/dev/null 2>&1 & echo $!; "
                                                     f"sleep {LIVE_S}; exit 7")
        self.assertEqual(code, 7)
        self.assertRegex(text, rf"wallspy: {out.strip()} \(sleep\) still runs")
        os.kill(int(out), signal.SIGKILL)

    @unittest.skipUnless(IS_ROOT, "only root can make a child of another user")
    def test_a_child_of_another_user(self):
        process = self.start("with_a_child_of_root")
        code, _, text, _ = run("-s", "-p", process.pid, "-d", "1", "-o", "o.json")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"warning: cannot attach to \d+: it belongs to root")
        self.assertIn("1 descendant not sampled", text)
        facts = Recording("o.json").facts
        self.assertEqual((facts["descendants"], facts["descendants_refused"]), (1, 1))

    def test_short_lives(self):
        """They are seen by chance, some 40 a second (docs/children.md): so there are many."""
        code, out, text, facts = self.record(sys.executable, __file__, "short", 1000,
                                             options=["-r", "1000"])
        self.assertEqual((code, out), (0, "done\n"), text)
        self.assertGreater(facts["descendants"] + facts["descendants_too_short"], 5)

    def test_brief_children(self):
        """Those that lived for some ticks are in the file, the CPU time of others is counted."""
        code, out, text, facts = self.record(sys.executable, __file__, "brief", 3)
        self.assertEqual(code, 0, text)
        parent, used_s, *long = out.split()
        sampled = {str(t["pid"]) for t in facts["threads"] if t["samples"] > 0}
        self.assertEqual(set(long) - sampled, set(), text)
        (row,) = (p for p in facts["processes"] if str(p["pid"]) == parent)
        seen_ns = sum(p["run_ns"] for p in facts["processes"] if str(p["pid"]) != parent)
        told_s = (seen_ns + row["unsampled_children_cpu_ns"]) / 1e9
        self.assertGreater(told_s, 0.8 * float(used_s))
        self.assertLess(told_s, 1.2 * float(used_s))

    def test_interrupted_where_attached(self):
        """Writes what there is; nobody is hurt."""
        process = self.start("family", 2)
        tree = descendants(process.pid)
        line = [programs["wallspy"], "-s", "-p", str(process.pid), "-o", "o.json"]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as wallspy:
            wallspy.stderr.readline()  # the headline
            wallspy.send_signal(signal.SIGINT)
            wallspy.communicate(timeout=30)
        self.assertEqual(wallspy.returncode, 0)
        facts = Recording("o.json").facts
        self.assertEqual({p["pid"] for p in facts["processes"]}, set(tree))
        for pid in tree:
            assert_let_go(pid)

    def test_interrupted_where_launched(self):
        """A terminal's Ctrl-C reaches the command and its children; its status is passed on."""
        line = [programs["wallspy"], "-s", "-o", "o.json", "--", sys.executable, __file__, "family",
                "2"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as wallspy:
            pid = int(wallspy.stdout.readline().split()[1])
            wallspy.stderr.readline()  # the headline
            children = set(descendants(pid))
            time.sleep(LIVE_S)  # until it has found them
            os.killpg(wallspy.pid, signal.SIGINT)
            _, text = wallspy.communicate(timeout=30)
        self.assertEqual(wallspy.returncode, 128 + signal.SIGINT, text)
        facts = Recording("o.json").facts
        self.assertEqual({p["pid"] for p in facts["processes"]}, children)

    @unittest.skipUnless(IS_ROOT and shutil.which("unshare"), "only root makes pid namespaces")
    def test_the_init_of_a_container(self):
        """In its namespace the pids are others."""
        line = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, __file__, "family",
                "2"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as container:
            self.assertEqual(container.stdout.readline(), "ready 1\n")
            (init,) = descendants(container.pid)[1:2]
            tree = set(descendants(init))
            code, _, text, _ = run("-s", "-p", init, "-d", "2", "-o", "o.json", user=False)
            os.kill(init, signal.SIGKILL)
        self.assertEqual(code, 0, text)
        facts = Recording("o.json").facts
        self.assertEqual({p["pid"] for p in facts["processes"]}, tree)
        self.assertEqual(len(tree), 4)
        parents = {p["pid"]: p.get("parent_pid") for p in facts["processes"]}
        self.assertEqual({parents[pid] for pid in tree - {init}}, {init})

    def test_pools(self):
        for how in "fork", "spawn", "forkserver":
            code, out, text, facts = self.record(sys.executable, __file__, "pool", how,
                                                 options=["-r", "1000"])
            self.assertEqual((code, out), (0, "done\n"), text)
            self.assertGreaterEqual(facts["descendants"], 4, how)

    def test_killed_in_the_middle(self):
        """Nobody stays stopped or traced."""
        process = self.start("family", 6)
        tree = descendants(process.pid)
        for _ in range(5):
            line = [programs["wallspy"], "-q", "-s", "-r", "2000", "--max-overhead", "100", "-p",
                    str(process.pid), "-o", "none"]
            with subprocess.Popen(line) as wallspy:
                time.sleep(0.7)
                self.assertIsNone(wallspy.poll())
                wallspy.kill()
            for pid in tree:
                assert_let_go(pid)

    def test_without_it_the_message_names_it(self):
        process = self.start("family", 2)
        code, _, text, _ = run("-p", process.pid, "-d", "2.5", "-o", "none", user=False)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, rf"{process.pid} \(python\S*\) only waits; its 3 children are not "
                               rf"sampled: wallspy -s -p {process.pid} takes all four")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in globals():
        globals()[sys.argv[1]](*sys.argv[2:])
    else:
        main(__doc__, "wallspy", "deny", "target")
