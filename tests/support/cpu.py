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


def make_group(name, texts_of_v1, texts_of_v2):
    """By either version of cgroups: TEXTS for its files."""
    for top, texts in (("/sys/fs/cgroup/cpu", texts_of_v1), ("/sys/fs/cgroup", texts_of_v2)):
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
    raise Skipped("no cgroup for CPUs can be made here")


FIRST_OF_V1, FIRST_OF_V2 = {"cpu.shares": 1 << 18}, {"cpu.weight": 10000}  # before all others


@contextlib.contextmanager
def quota_group(quota_us, period_us, first=False):
    """A cgroup whose processes may run for QUOTA_US in each PERIOD_US; FIRST: before others."""
    group = make_group(f"wallspy-test-{os.getpid()}",
                       {"cpu.cfs_period_us": period_us, "cpu.cfs_quota_us": quota_us,
                        **(FIRST_OF_V1 if first else {})},
                       {"cpu.max": f"{quota_us} {period_us}", **(FIRST_OF_V2 if first else {})})
    try:
        yield group
    finally:
        group.rmdir()


@contextlib.contextmanager
def favoured():
    """This program, and what it starts, gets the CPUs before those of all other cgroups."""
    group = make_group(f"wallspy-favoured-{os.getpid()}", FIRST_OF_V1, FIRST_OF_V2)
    try:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(os.getpid()))
        with contextlib.suppress(OSError):  # a program that has not quite ended
            group.rmdir()
