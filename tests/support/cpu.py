"""CPUs that are taken away: programs that spin, and cgroups with a quota."""
import contextlib
import os
import pathlib
import subprocess

from .outcome import Skipped

SPIN = ["sh", "-c", "while :; do :; done"]
# The words before a command that put it in a group, which follows them.
IN_GROUP = ["sh", "-c", 'echo $$ >"$0"/cgroup.procs && exec "$@"']


@contextlib.contextmanager
def running(command, **how):
    """The process of COMMAND, killed when the block is left.  HOW: as of Popen()."""
    with subprocess.Popen(command, **how) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def spinners(count, prefix=()):
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(running([*prefix, *SPIN]))
        yield


def make_group(name, quota_us, period_us):
    """By either version of cgroups."""
    for top, texts in (("/sys/fs/cgroup/cpu",
                        {"cpu.cfs_period_us": period_us, "cpu.cfs_quota_us": quota_us}),
                       ("/sys/fs/cgroup", {"cpu.max": f"{quota_us} {period_us}"})):
        group = pathlib.Path(top, name)
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for file, text in texts.items():
                (group / file).write_text(str(text))
            return group
        except OSError:
            group.rmdir()
    raise Skipped("no cgroup with a CPU quota can be made here")


@contextlib.contextmanager
def quota_group(quota_us, period_us):
    """A cgroup whose processes may run for QUOTA_US in each PERIOD_US."""
    group = make_group(f"wallspy-test-{os.getpid()}", quota_us, period_us)
    try:
        yield group
    finally:
        group.rmdir()
