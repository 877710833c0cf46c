"""wallspy called as py-spy, and py-spy itself, on the same processes at rest.

usage: pyspy_beside.py [--python PYTHON] WALLSPY
py-spy is that of PATH.  Text, JSON and exit codes must be equal but for what docs/py-spy.md lists;
prints each difference and exits 1 if there is one, 77 without py-spy.
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

from support.outcome import Skipped, end_with
from support.processes import children, wait_for_rest
from support.targets import Target
from support.wallspy import call

CLI = pathlib.Path(__file__).resolve().parent.parent / "cli"
sys.path.insert(0, str(CLI))
import pyspy  # pylint: disable=wrong-import-position

# Programs that come to rest: a file of tests/cli, and its arguments.
PROGRAMS = [("pyspy_target.py", "FOLDER", "wait"), ("pyspy_target.py", "FOLDER", "launch"),
            ("dump_target.py", "queue"), ("dump_target.py", "epoll"),
            ("dump_target.py", "asyncio"), ("dump_target.py", "launch", "3")]
# Command lines whose exit codes are compared, without a process.
USAGES = [[], ["--help"], ["--version"], ["help"], ["dude"], ["dump"], ["dump", "--help"],
          ["dump", "--pid"], ["dump", "--foo"], ["dump", "-p", "999999999"],
          ["dump", "-p", "1", "--json=1"], ["dump", "-p", "1", "--threads"],
          ["record", "-p", "1", "-f", "pdf"], ["record"], ["record", "-p", "999999999"]]


class Beside:
    def __init__(self, wallspy):
        self.programs = {"py-spy": [shutil.which("py-spy")], "wallspy": [wallspy, "py-spy"]}
        self.differences = 0
        self.tells_tids = True  # with --nonblocking: from 3.11 on

    def differ(self, *words):
        self.differences += 1
        print(*words, flush=True)

    def equal(self, what, theirs, ours):
        if theirs != ours:
            self.differ(f"{what}:\n  py-spy  {theirs}\n  wallspy {ours}")

    def both(self, *args):
        """What both print, and that their codes are equal."""
        ran = {name: call([*words, *args], timeout=60) for name, words in self.programs.items()}
        self.equal(f"exit code of {args}", ran["py-spy"].code, ran["wallspy"].code)
        return ran["py-spy"].stdout, ran["wallspy"].stdout

    # ---- of one process ----

    def text(self, pid, *more):
        self.equal(f"text {more}", *(sorted(pyspy.parse(text), key=lambda process: process["pid"])
                                     for text in self.both("dump", "--pid", pid, *more)))

    def frames(self, theirs, ours):
        keys = ("name", "filename", "module", "short_filename", "line", "locals")
        self.equal("frames", *([{key: frame[key] for key in keys} for frame in thread["frames"]]
                               for thread in (theirs, ours)))

    def json(self, pid, *more):
        theirs, ours = map(json.loads, self.both("dump", "--json", "--pid", pid, *more))
        for who, threads in ("py-spy", theirs), ("wallspy", ours):
            for thread in threads:
                for what in pyspy.violations(thread, "thread"):
                    self.differ(who, what)
        ours = [thread for thread in ours if thread["pid"] == pid]  # of one process alone
        keys = ("pid", "thread_id", "thread_name", "os_thread_id", "active", "owns_gil",
                "process_info")
        self.equal("threads", *([[thread[key] for key in keys] for thread in threads]
                                for threads in (theirs, ours)))
        for one, other in zip(theirs, ours):
            self.frames(one, other)

    def native(self, pid):
        """The same Python threads, and in each the same Python frames."""
        def python(process):
            return [(t["tid"], t["state"], t["name"],
                     [f for f in t["frames"] if f["file"].endswith(".py")])
                    for t in process["threads"]]
        theirs, ours = (pyspy.parse(text)[0]
                        for text in self.both("dump", "--native", "--pid", pid))
        theirs, ours = python(theirs), python(ours)
        self.equal("native", theirs, ours[:len(theirs)])

    def variables(self, pid):
        """The same names and objects.  To py-spy a keyword-only argument is none."""
        theirs, ours = map(json.loads, self.both("dump", "--json", "--locals", "--pid", pid))
        self.equal("variables", *([(f["name"], [(v["name"], v["addr"])
                                                for v in f["locals"]])
                                   for thread in threads for f in thread["frames"]]
                                  for threads in (theirs, ours)))

    def process(self, pid, has_others):
        """HAS_OTHERS: it has children that are no Python, with which py-spy fails."""
        ways = [[], ["--full-filenames"], ["--nonblocking"]]
        for more in ways if self.tells_tids else ways[:2]:
            self.text(pid, *more)
            self.json(pid, *more)
        if not has_others:
            self.text(pid, "--subprocesses")
            self.json(pid, "--subprocesses")
        self.native(pid)
        self.variables(pid)


def is_python(pid):
    return "python" in os.readlink(f"/proc/{pid}/exe")


def compare(args):
    if not shutil.which("py-spy"):
        raise Skipped("py-spy is not in PATH")
    beside = Beside(os.path.abspath(args.wallspy))
    version = call([args.python, "-c", "import sys; print(sys.version_info[1])"]).stdout
    beside.tells_tids = int(version) >= 11
    for line in USAGES:
        beside.both(*line)
    for name, *arguments in PROGRAMS:
        if int(version) < 7 and "asyncio" in arguments:  # there is no asyncio.run()
            continue
        with tempfile.TemporaryDirectory() as folder:
            words = [folder if word == "FOLDER" else word for word in arguments]
            with Target([args.python, CLI / name, *words], gently=True) as target:
                wait_for_rest(target.pid)
                print("of", name, *arguments, flush=True)
                others = [pid for pid in children(target.pid) if not is_python(pid)]
                beside.process(target.pid, bool(others))
    print(f"{beside.differences} differences from {call(['py-spy', '--version']).stdout.strip()}")
    return beside.differences == 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("wallspy")
    end_with(compare, parser.parse_args())
