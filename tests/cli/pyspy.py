"""wallspy called as py-spy: what the programs that call py-spy run, and what they make of it.

usage: pyspy.py WALLSPY DENY [unittest's arguments]

pyspy_facts.json has the keys and types of py-spy 0.4.3's JSON; tests/vs_gdb/pyspy_beside.py holds
both programs beside each other.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from support.cases import FolderTest
from support.outcome import main
from support.processes import children, wait_for_rest
from support.programs import programs
from support.targets import Target
from support.wallspy import call

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE / "pyspy_target.py"
FACTS = json.loads((HERE / "pyspy_facts.json").read_text(encoding="ascii"))
TYPES = {"int": int, "str": str, "bool": bool, "list": list, "null": type(None)}

PROCESS = re.compile(r"Process (\d+): (.*)")
PARENT = re.compile(r"Parent Process (\d+): (.*)")
VERSION = re.compile(r"Python v(\d+\.\d+\.\d+\S*) \((/.*)\)")
THREAD = re.compile(r'Thread (\d+) \((idle|active|active\+gil)\)(?:: "(.*)")?')
FRAME = re.compile(r"    (\S.*) \((.*?)(?::(\d+))?\)")
TITLE = re.compile(r"        (Arguments|Locals):")
LOCAL = re.compile(r"            (\S+): (.*)")


def parse_thread(lines):
    head = THREAD.fullmatch(lines.pop(0))
    assert head, lines
    thread = {"tid": int(head[1]), "state": head[2], "name": head[3], "frames": []}
    kind = None
    while lines and not THREAD.fullmatch(lines[0]) and lines[0]:
        line = lines.pop(0)
        title, local, frame = TITLE.fullmatch(line), LOCAL.fullmatch(line), FRAME.fullmatch(line)
        if title:
            kind = title[1]
        elif local:
            thread["frames"][-1][kind][local[1]] = local[2]
        else:
            assert frame, line
            thread["frames"].append({"name": frame[1], "file": frame[2], "Arguments": {},
                                     "Locals": {}, "line": int(frame[3] or 0)})
    return thread


def parse(text):
    """The processes of py-spy's text: each line must be one of its."""
    lines, found = text.splitlines(), []
    while lines:
        process, version = PROCESS.fullmatch(lines.pop(0)), VERSION.fullmatch(lines.pop(0))
        parent = PARENT.fullmatch(lines[0])
        if parent:
            lines.pop(0)
        assert lines.pop(0) == ""
        found.append({"pid": int(process[1]), "command": process[2], "version": version[1],
                      "exe": version[2], "parent": parent and int(parent[1]), "threads": []})
        while lines and lines[0]:
            found[-1]["threads"].append(parse_thread(lines))
        if lines:
            assert lines.pop(0) == "" and set(lines.pop(0)) == {"-"}, lines
    return found


def violations(value, kind):
    """What of VALUE is not as a KIND of FACTS."""
    facts = FACTS[kind]
    if list(value) != list(facts):
        yield f"{kind}: keys {list(value)}"
    for key, names in facts.items():
        if not any(type(value[key]) is TYPES[name] for name in names):
            yield f"{kind}: {key} is {value[key]!r}"
    for frame in value.get("frames", ()):
        yield from violations(frame, "frame")
    for local in value.get("locals") or ():
        yield from violations(local, "local")


class Named(FolderTest):
    """Each test has a folder with the link, which is in PATH, and one with its target's package."""

    def setUp(self):
        super().setUp()
        os.mkdir("bin")
        path = {"PATH": f"{os.path.abspath('bin')}:{os.environ['PATH']}"}
        ran = call([programs["wallspy"], "install-py-spy", "bin"], environment=path)
        assert ran.code == 0, ran
        self.assertIn("bin/py-spy is a link to ", " ".join(ran.stderr.split()))
        self.assertNotIn("warning", ran.stderr)
        self.environment = path

    def target(self, kind="wait"):
        target = Target([sys.executable, TARGET, os.getcwd(), kind], gently=True)
        if kind != "spin":
            wait_for_rest(target.pid)
        return target

    def spy(self, *args, code=0):
        ran = call(["py-spy", *args], environment=self.environment)
        self.assertEqual(ran.code, code, ran)
        return ran

    def one(self, *args):
        """The one process of a text."""
        (process,) = parse(self.spy("dump", *args).stdout)
        return process

    def threads(self, *args):
        threads = json.loads(self.spy("dump", "--json", *args).stdout)
        self.assertEqual([v for thread in threads for v in violations(thread, "thread")], [])
        return threads


def stack(thread):
    return [(f["name"], f.get("file", f.get("short_filename"))) for f in thread["frames"]]


class Text(Named):
    def test_python(self):
        with self.target() as target:
            process = self.one("--pid", target.pid)
        self.assertEqual(process["pid"], target.pid)
        self.assertIn("pyspy_target.py", process["command"])
        self.assertEqual(process["version"].split("+")[0].split("rc")[0],
                         ".".join(map(str, sys.version_info[:3])))
        self.assertEqual(os.path.realpath(process["exe"]), os.path.realpath(sys.executable))
        main_thread, loader = process["threads"]
        self.assertEqual((main_thread["tid"], main_thread["state"], main_thread["name"]),
                         (target.pid, "idle", "MainThread"))
        self.assertEqual(stack(main_thread), [("hang", "pyspy_target.py"),
                                              ("main", "pyspy_target.py"),
                                              ("<module>", "pyspy_target.py")])
        lines = TARGET.read_text(encoding="ascii").splitlines()
        self.assertEqual(lines[main_thread["frames"][0]["line"] - 1].strip(), "os.read(0, 1)")
        self.assertEqual((loader["name"], loader["state"]), ("loader 1", "idle"))
        wanted = [("Condition.wait", "threading.py"), ("Event.wait", "threading.py"),
                  ("Worker.serve", "acme/inner/work.py"), ("Thread.run", "threading.py"),
                  ("Thread._bootstrap_inner", "threading.py"),
                  ("Thread._bootstrap", "threading.py")]
        if sys.version_info < (3, 11):  # whose code objects have no qualified names
            wanted = [(name.rpartition(".")[2], file) for name, file in wanted]
        self.assertEqual(stack(loader), wanted)

    def test_native(self):
        """SGLang's words, by a shell; threads that run no Python are there, too."""
        with self.target() as target:
            done = subprocess.run(f"py-spy dump --native --pid {target.pid}", shell=True, text=True,
                                  check=True, stdout=subprocess.PIPE,
                                  env={**os.environ, **self.environment})
        (process,) = parse(done.stdout)
        main_thread, loader, native = process["threads"]
        names = [name for name, _ in stack(main_thread)]
        self.assertIn("read", names[0])
        self.assertEqual([name for name in names if name in ("hang", "main", "<module>")],
                         ["hang", "main", "<module>"])
        self.assertNotIn("_start", names)
        self.assertFalse([name for name in names if name.startswith("_PyEval")])
        self.assertEqual(loader["name"], "loader 1")
        self.assertIn("pause", stack(native)[0][0])

    def test_runs_and_has_the_gil(self):
        with self.target("spin") as target:
            states = set()
            for _ in range(20):
                (spinner,) = [t for t in self.one("-p", target.pid)["threads"]
                              if t["name"] == "spinner"]
                self.assertEqual(stack(spinner)[0], ("spin", "pyspy_target.py"))
                states.add(spinner["state"])
        self.assertIn("active+gil", states)

    def test_full_filenames(self):
        with self.target() as target:
            process = self.one("--pid", target.pid, "--full-filenames")
        self.assertEqual(process["threads"][0]["frames"][0]["file"], str(TARGET))

    def test_locals(self):
        with self.target() as target:
            process = self.one("-p", target.pid, "-l")
        (serve,) = [f for f in process["threads"][1]["frames"] if f["name"].endswith("serve")]
        self.assertEqual(list(serve["Arguments"]), ["self", "limit", "token"])
        self.assertEqual((serve["Arguments"]["limit"], serve["Arguments"]["token"]), ("3", "***"))
        self.assertEqual(serve["Locals"], {"plain": "'a 'b''"})
        self.assertEqual({f["name"]: f["Arguments"].get("kind")
                          for f in process["threads"][0]["frames"]}["main"], "'wait'")

    def test_subprocesses(self):
        """PyTorch's debug server's words.  What runs no Python is left out, with a word."""
        with self.target("launch") as target:
            python, other = sorted(children(target.pid),
                                   key=lambda pid: b"child" not in cmdline(pid))
            ran = self.spy("dump", "--pid", target.pid, "--native", "--subprocesses",
                           "--nonblocking")
        parent, child = parse(ran.stdout)
        self.assertEqual((parent["pid"], parent["parent"]), (target.pid, None))
        self.assertEqual((child["pid"], child["parent"]), (python, target.pid))
        self.assertIn("run no Python are left out: 1.", " ".join(ran.stderr.split()))
        self.assertNotIn(str(other), ran.stdout)
        self.assertEqual(child["threads"][0]["name"], "MainThread")


def cmdline(pid):
    return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


class Json(Named):
    def test_threads(self):
        with self.target() as target:
            ids = [int(word) for word in target.first.split()]
            threads = self.threads("--pid", target.pid)
        loader, main_thread = threads
        self.assertEqual([main_thread["thread_id"], loader["thread_id"]], ids)
        self.assertEqual((main_thread["os_thread_id"], main_thread["thread_name"]),
                         (target.pid, "MainThread"))
        self.assertEqual({t["pid"] for t in threads}, {target.pid})
        self.assertEqual({(t["active"], t["owns_gil"]) for t in threads}, {(False, False)})
        self.assertEqual(main_thread["frames"][0]["filename"], str(TARGET))
        self.assertEqual(stack(main_thread)[0], ("hang", "pyspy_target.py"))
        self.assertEqual({f["locals"] for f in main_thread["frames"]}, {None})
        self.assertEqual([f["is_entry"] for f in main_thread["frames"]], [False, False, True])

    def test_native(self):
        """Monarch's words, which take an unknown option for an old py-spy's."""
        with self.target() as target:
            native, loader, main_thread = self.threads("--pid", target.pid, "--native",
                                                       "--native-all", "--nonblocking")
        self.assertEqual(main_thread["thread_name"], "MainThread")
        self.assertEqual(loader["thread_name"], "loader 1")
        self.assertEqual(native["thread_id"], native["os_thread_id"])
        modules = {f["module"] for f in native["frames"]}
        self.assertTrue(all(os.path.isabs(module) for module in modules), modules)
        self.assertEqual({f["module"] for f in main_thread["frames"]
                          if f["filename"] == str(TARGET)}, {None})

    def test_locals(self):
        with self.target() as target:
            loader = self.threads("-p", target.pid, "--locals")[0]
        (serve,) = [f for f in loader["frames"] if f["name"].endswith("serve")]
        found = {v["name"]: (v["arg"], v["repr"]) for v in serve["locals"]}
        self.assertEqual(found, {"self": (True, "<Worker>"), "limit": (True, "3"),
                                 "token": (True, "***"), "plain": (False, "'a 'b''")})
        self.assertTrue(all(v["addr"] for v in serve["locals"]))

    def test_subprocesses(self):
        with self.target("launch") as target:
            threads = self.threads("-p", target.pid, "-s")
        self.assertEqual(len({t["pid"] for t in threads}), 2)
        self.assertEqual([t["thread_name"] for t in threads], ["loader 1", "MainThread"] * 2)


class Codes(Named):
    def test_no_such_process(self):
        ran = self.spy("dump", "-p", 999999999, code=1)
        self.assertIn("999999999: no such process", ran.stderr)

    def test_usage(self):
        for line in ([], ["dump"], ["dump", "--pid", "1", "--foo"], ["top", "--pid", "1"],
                     ["record", "-p", "1", "-f", "chrometrace"]):
            self.assertEqual(self.spy(*line, code=2).stdout, "")

    def test_not_permitted(self):
        """Ray looks for that word, and then tells its user about root."""
        with self.target() as target:
            ran = call([programs["deny"], "ptrace=EPERM", "py-spy", "dump", "-p", target.pid],
                       environment=self.environment, timeout=30)
        self.assertEqual((ran.code, ran.stdout), (1, ""))
        self.assertIn("permission", ran.stderr.lower())
        self.assertIn("seccomp", ran.stderr)

    def test_no_python(self):
        with Target(["sh", "-c", "echo ready; read x"], "ready", gently=True) as target:
            for more in [], ["--native"], ["--json"]:
                ran = self.spy("dump", "-p", target.pid, *more, code=1)
                self.assertEqual(ran.stdout, "")
                self.assertIn(f"{target.pid} runs no Python that wallspy can read: wallspy dump -p "
                              f"{target.pid} has its native stacks", " ".join(ran.stderr.split()))

    def test_version_and_help(self):
        self.assertRegex(self.spy("--version").stdout, r"^py-spy \d+\.\d+\.\d+ ")
        for line in ["--help"], ["dump", "--help"], ["help"]:
            self.assertRegex(self.spy(*line).stdout, r"(?m)^  -p, --pid PID ")
        ran = call([programs["wallspy"], "help", "py-spy"])
        self.assertEqual((ran.code, ran.stdout), (0, self.spy("--help").stdout))


class Install(Named):
    def test_again_and_over_another(self):
        self.assertEqual(call([programs["wallspy"], "install-py-spy", "bin"]).code, 0)
        pathlib.Path("other").mkdir()
        pathlib.Path("other/py-spy").write_text("its own", encoding="ascii")
        ran = call([programs["wallspy"], "install-py-spy", "other"])
        self.assertEqual(ran.code, 1)
        self.assertIn("cannot make other/py-spy: File exists. Remove", " ".join(ran.stderr.split()))
        self.assertEqual(pathlib.Path("other/py-spy").read_text(encoding="ascii"), "its own")
        ran = call([programs["wallspy"], "install-py-spy", "missing"])
        self.assertEqual(ran.code, 1)
        self.assertIn("missing/py-spy: No such file or directory. Choose another folder.",
                      " ".join(ran.stderr.split()))

    def test_what_callers_will_find(self):
        """Ray and others ask PATH."""
        self.assertEqual(os.path.realpath(shutil.which("py-spy", path=self.environment["PATH"])),
                         os.path.realpath(programs["wallspy"]))
        os.mkdir("first")
        shutil.copy("/bin/true", "first/py-spy")
        os.mkdir("second")
        for path, warning in ((f"{os.path.abspath('first')}:{os.path.abspath('second')}",
                               "first/py-spy comes first in PATH"),
                              ("/nowhere", "its folder is not in PATH")):
            ran = call([programs["wallspy"], "install-py-spy", "second"],
                       environment={"PATH": path})
            self.assertEqual(ran.code, 0)
            self.assertIn(warning, " ".join(ran.stderr.split()))


class Record(Named):
    def test_rays_lines(self):
        with self.target() as target:
            for form, begin in (("flamegraph", "<?xml"), ("raw", ""), ("speedscope", "{")):
                file = pathlib.Path(f"{form}_100%.txt")
                self.spy("record", "-o", file, "-p", target.pid, "-d", "1", "-f", form)
                text = file.read_text(encoding="utf-8")
                self.assertTrue(text.startswith(begin), text[:80])
                self.assertIn("hang", text)
                self.assertNotIn("lock_PyThread", text)

    def test_a_program(self):
        """Its own status is passed on, and it is not killed."""
        self.spy("record", "-o", "o.svg", "-d", "1", "--", sys.executable, "-c",
                 "import time; time.sleep(1.5); open('done', 'w').close(); raise SystemExit(7)",
                 code=7)
        self.assertTrue(os.path.exists("done"))
        self.assertTrue(os.path.exists("o.svg"))


if __name__ == "__main__":
    main(__doc__, "wallspy", "deny")
