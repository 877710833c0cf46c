"""What is taken away from programs: CPUs by those that spin, and what their cgroup may use."""
import contextlib
import os
import pathlib
import subprocess

from .outcome import Skipped
from .processes import wait_until

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


def make_group(name, texts_of_v1, texts_of_v2, controller="cpu"):
    """By either version of cgroups: TEXTS for its files."""
    for top, texts in ((f"/sys/fs/cgroup/{controller}", texts_of_v1),
                       ("/sys/fs/cgroup", texts_of_v2)):
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
    raise Skipped(f"no cgroup for {controller} can be made here")


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
def weight_group(weight):
    """A cgroup of WEIGHT; the usual one is 100."""
    group = make_group(f"wallspy-weight-{weight}-{os.getpid()}",
                       {"cpu.shares": weight * 1024 // 100}, {"cpu.weight": weight})
    try:
        yield group
    finally:
        remove_group(group)


@contextlib.contextmanager
def memory_group(megabytes):
    """A cgroup whose processes, with the files that they read, have so much memory."""
    limit = megabytes << 20
    group = make_group(f"wallspy-memory-{os.getpid()}", {"memory.limit_in_bytes": limit},
                       {"memory.max": limit}, "memory")
    try:
        yield group
    finally:
        remove_group(group)


class FreezerGroup:
    """A cgroup that can be frozen."""

    def __enter__(self):
        self.path = make_group(f"wallspy-freezer-{os.getpid()}", {"freezer.state": "THAWED"},
                               {"cgroup.freeze": 0}, "freezer")
        self.by_v1 = (self.path / "freezer.state").exists()
        return self

    def set_frozen(self, frozen):
        if self.by_v1:
            (self.path / "freezer.state").write_text("FROZEN" if frozen else "THAWED")
        else:
            (self.path / "cgroup.freeze").write_text(str(int(frozen)))

    @contextlib.contextmanager
    def frozen(self):
        """While the block goes on; a frozen process does not even end."""
        self.set_frozen(True)
        try:
            yield
        finally:
            self.set_frozen(False)

    def __exit__(self, *_):
        remove_group(self.path)


def remove_group(group):
    """Its processes were killed, but may not quite have ended."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: not (group / "cgroup.procs").read_text(), what=f"{group} is in use")
    group.rmdir()
