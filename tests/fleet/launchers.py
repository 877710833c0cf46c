"""The lines of docs/fleet.md, as they stand there, with stand-ins for the launchers: each runs the
line's command on hosts that are names in UTS namespaces, where pgrep finds only the host's ranks.

usage: launchers.py WALLSPY [unittest's arguments]
"""
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

from support.cases import FolderTest
from support.outcome import main
from support.processes import wait_for_rest
from support.programs import IS_ROOT, programs
from support.targets import Target
from support.wallspy import call

HERE = pathlib.Path(__file__).resolve()
PAGE = (HERE.parents[2] / "docs" / "fleet.md").read_text(encoding="utf-8")
RANKS, ODD, HOSTS = 8, 5, ["node0", "node1"]
FIRST = rf"^rank {ODD} (of {RANKS} )?\(node1\): back_off \S+\.py:\d+, sleeps; 7 others: Star"
# What a launcher does with its own options, and then on each host: $host is its name.
ON_HOST = "unshare --uts sh -c 'hostname \"$0\"; exec \"$@\"' $host"
STAND_INS = {
    "srun": f"""
        while case $1 in --output=*) output=${{1#--output=}};; --*) ;; *) false;; esac; do
            shift
        done
        for host in {" ".join(HOSTS)}; do
            {ON_HOST} "$@" >"$(echo "$output" | sed "s/%N/$host/")" &
        done; wait""",
    "mpirun": f"""
        [ "$1 $2 $3 $4" = "--hostfile hosts -N 1" ] || exit 2
        shift 4
        for host in $(cat hosts); do {ON_HOST} "$@" & done; wait""",
    "ssh": f'host=$1; shift; {ON_HOST} sh -c "$*"',
    "kubectl": f"""
        [ "$1" = exec ] || {{ printf 'pod/%s\\n' {" ".join(HOSTS)}; exit; }}
        host=${{2#pod/}}; shift 3; {ON_HOST} "$@" """,
    "pgrep": """
        case " $* " in *' -d, '*) sep=,;; *) sep=' ';; esac
        case " $* " in *' -o '*) oldest='head -1';; *) oldest=cat;; esac
        eval "pattern=\\${$#}"
        ours=$STAND_INS/$(hostname); [ -e "$ours" ] || ours=$STAND_INS/all
        /usr/bin/pgrep -f "$pattern" | grep -x -f "$ours" | $oldest | paste -sd "$sep" """,
}
RAY = """
import subprocess
class Task:
    def __init__(self, function): self.function = function
    def options(self, num_cpus, scheduling_strategy):
        self.host = scheduling_strategy.node
        return self
    def remote(self):
        run = subprocess.run
        on = ["unshare", "--uts", "sh", "-c", f"hostname {self.host}; " ]
        subprocess.run = lambda line, shell, stdout: run([*on[:-1], on[-1] + line], stdout=stdout)
        try:
            return self.function()
        finally:
            subprocess.run = run
remote = Task
def nodes(): return [{"NodeID": n, "Alive": True} for n in ("node0", "node1")]
def get(tasks): return tasks
"""
STRATEGIES = """
class NodeAffinitySchedulingStrategy:
    def __init__(self, node, soft): self.node = node
"""


def lines(title):
    """The block of the page that begins with TITLE."""
    return re.search(rf"```(?:python)?\n(# {title}.*?)```", PAGE, re.S)[1]


@unittest.skipUnless(IS_ROOT and call(["unshare", "--uts", "true"]).code == 0,
                     "hosts of other names take root")
class Launchers(FolderTest):
    def setUp(self):
        super().setUp()
        self.stand_ins = pathlib.Path("stand-ins").resolve()
        self.stand_ins.mkdir()
        for name, script in STAND_INS.items():
            self.put(name, "#!/bin/sh\n" + textwrap.dedent(script) + "\n")
        (self.stand_ins / "wallspy").symlink_to(pathlib.Path(programs["wallspy"]).resolve())
        self.environment = {**os.environ, "STAND_INS": str(self.stand_ins),
                            "PYTHONPATH": str(self.stand_ins),
                            "PATH": f"{self.stand_ins}:{os.environ['PATH']}"}
        pathlib.Path("hosts").write_text("\n".join(HOSTS) + "\n", encoding="utf-8")
        pathlib.Path("dumps").mkdir()

    def put(self, name, text):
        path = self.stand_ins / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def start(self, name):
        """A job whose processes are called NAME, its ranks' pids known to the stand-ins."""
        pathlib.Path(name).write_bytes(HERE.with_name("job.py").read_bytes())
        job = Target([sys.executable, name, "star", RANKS, "back_off", ODD], gently=True)
        self.addCleanup(job.end)
        pids = job.first.split()
        for rank, pid in enumerate(pids):
            if rank != ODD:  # that one sleeps again and again
                wait_for_rest(int(pid))
        for i, host in enumerate(HOSTS):
            self.put(host, "\n".join(pids[i * 4:i * 4 + 4]) + "\n")
        self.put("all", "\n".join([str(job.pid), *pids]) + "\n")
        return job

    def run_lines(self, title, program="sh"):
        done = subprocess.run([program, "-c", lines(title)], env=self.environment, timeout=60,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done)
        return done.stdout.decode()

    def test_lines_with_hosts(self):
        self.start("train.py")
        for title in "Slurm", "Open MPI", "ssh", "Kubernetes":
            for file in pathlib.Path("dumps").iterdir():
                file.unlink()
            text = self.run_lines(title)
            self.assertRegex(text, FIRST, title)
            self.assertIn("7 ranks: 0-3 (node0), 4, 6, 7 (node1)\n", text, title)

    def test_torchrun(self):
        self.start("torchrun")
        (self.stand_ins / "node0").unlink()
        self.assertRegex(self.run_lines("torchrun"),
                         rf"^rank {ODD} .*back_off torchrun:\d+, sleeps")

    def test_ray(self):
        self.start("ray::train.py")
        self.put("ray/__init__.py", RAY)
        self.put("ray/util/__init__.py", "")
        self.put("ray/util/scheduling_strategies.py", STRATEGIES)
        self.assertRegex(self.run_lines("Ray", sys.executable), FIRST)


if __name__ == "__main__":
    main(__doc__, "wallspy")
