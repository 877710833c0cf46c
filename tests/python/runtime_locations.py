"""Records a target whose interpreter is in an unusual place, and looks for its Python frames, of a
thread that sleeps and of one that computes.

usage: PYTHON runtime_locations.py WALLSPY HOST PLACE...     the target runs under the same
interpreter

  ld.so    started as an argument of the dynamic linker: /proc/PID/exe is that one
  late     an application that loads libpython after the sampling has begun
  exec     the target becomes another program while it is sampled
  chroot, mount, pid     in a root, a mount namespace, a pid namespace of its own
"""
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time

from support.outcome import Skipped, end_with, skip_part
from support.processes import children
from support.recording import read_folded
from support.targets import Target
from support.wallspy import await_text, record_folded
from walk import HERE, interpreter_file

TARGET = ["-S", os.path.join(HERE, "runtime_locations_target.py")]
FOREVER = "60"
SLEEPING = ";<module>;outer;inner;"
COMPUTING = r";(Thread\.)?_bootstrap;(Thread\.)?_bootstrap_inner;(Thread\.)?run;spin(;|$)"
# Needs no root where user namespaces are allowed.
UNSHARE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


def record(folder, *args):
    """Returns the recording's stacks and wallspy itself, which is still at it."""
    out = os.path.join(folder, "out.folded")
    return out, subprocess.Popen([sys.argv[1], "-v", "-o", out] + list(args), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 universal_newlines=True)


def stacks_of(out, recorder):
    said = recorder.communicate(timeout=60)[0]
    if recorder.returncode:
        raise AssertionError("exit %d: %s" % (recorder.returncode, said))
    return [";".join(stack) for stack, _ in read_folded(out)], said


def expect(stacks, said, steady=True):
    """STEADY: the target does nothing else."""
    sleeping = [s for s in stacks if SLEEPING in s]
    computing = [s for s in stacks if re.search(COMPUTING, s)]
    others = [s for s in stacks if s not in sleeping and s not in computing]
    mismatch = re.search(r"merge_mismatch +[1-9]", said)
    if not sleeping or not computing or (steady and (others or mismatch)):
        raise AssertionError("\n".join([said] + stacks))


def at(pid):
    """Records a process that sleeps and computes."""
    stacks, said = record_folded(sys.argv[1], ["-v", "-d", "0.4"], ["-p", pid])
    expect([";".join(stack) for stack, _ in stacks], said)


def dynamic_linker():
    with open("/proc/self/maps") as f:
        return re.search(r"/\S*/ld-[^/\s]*$", f.read(), re.M).group(0)


def in_ld_so(_):
    command = [dynamic_linker(), os.path.realpath(sys.executable)] + TARGET + [FOREVER]
    with Target(command, "ready", env=dict(os.environ, PYTHONHOME=sys.prefix)) as target:
        at(target.pid)


def in_late(folder):
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "",
                           sysconfig.get_config_var("INSTSONAME") or "")
    if not library.endswith((".so.1.0", ".so")) or not os.path.exists(library):
        raise Skipped("no shared libpython")
    host = os.path.join(folder, "host")
    subprocess.check_call(["strip", "-o", host, sys.argv[2]])
    with Target([host, library] + TARGET + ["1.5"], "ready",
                env=dict(os.environ, PYTHONHOME=sys.prefix)) as target:
        out, recorder = record(folder, "-p", str(target.pid))
        try:
            await_text(recorder.stdout, "sampling")
            target.say("go\n")
            assert target.line() == "ready", "the target did not start"
            stacks, said = stacks_of(out, recorder)
        finally:
            recorder.kill()
    expect(stacks, said, steady=False)
    if not [s for s in stacks if "read" in s and "<module>" not in s]:
        raise AssertionError("not sampled before libpython came\n" + "\n".join(stacks))


def in_exec(folder):
    out, recorder = record(folder, "-d", "10", "--", sys.executable, *(TARGET + ["1", "exec"]))
    stacks, said = stacks_of(out, recorder)
    expect(stacks, said, steady=False)
    if not [s for s in stacks if ";<module>;before" in s]:
        raise AssertionError("not seen before the exec\n" + "\n".join(stacks))


def may_unshare(*more):
    if subprocess.call(UNSHARE + list(more) + ["true"], stderr=subprocess.DEVNULL):
        raise Skipped("unshare is not permitted here")


def elsewhere(real, seen):
    """Puts the interpreter into the folder REAL; the command that runs it if it is at SEEN."""
    source = interpreter_file()
    shutil.copy(source, real)
    static = source == sys.executable
    python = os.path.join(seen, os.path.basename(source)) if static else sys.executable
    return ["env", "LD_LIBRARY_PATH=" + seen, "PYTHONHOME=" + sys.prefix,
            python] + TARGET + [FOREVER]


def namespaced(command):
    with Target(command, "ready") as target:
        at(target.pid)


def in_mount(folder):
    """Where wallspy looks for the path it finds another program."""
    may_unshare()
    real, seen = os.path.join(folder, "real"), os.path.join(folder, "seen")
    os.mkdir(real)
    os.mkdir(seen)
    command = elsewhere(real, seen)
    shutil.copy(shutil.which("true"), os.path.join(seen, os.listdir(real)[0]))
    namespaced(UNSHARE + ["sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', real,
                          seen] + command)


def in_chroot(folder):
    """The path leads nowhere outside."""
    may_unshare()
    real, root = os.path.join(folder, "real"), os.path.join(folder, "root")
    os.mkdir(real)
    os.mkdir(root)
    command = elsewhere(real, "/mnt")
    namespaced(UNSHARE + [
        "sh", "-c", 'mount --rbind / "$1" && mount --bind "$0" "$1/mnt" && exec chroot "$@"', real,
        root] + command)


def in_pid(_):
    """Its pids and tids are others inside."""
    may_unshare("--pid", "--fork")
    command = UNSHARE + ["--pid", "--fork", "--kill-child", "--mount-proc",
                         sys.executable] + TARGET + [
        FOREVER]
    with Target(command, "ready") as target:
        (inner,) = children(target.pid)
        at(inner)


def main():
    tried = 0
    for place in sys.argv[3:]:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.time()
            try:
                globals()["in_" + place.replace(".", "_")](folder)
                tried += 1
                print("%s: %.1f s" % (place, time.time() - begun))
            except Skipped as skipped:
                reason = skipped
                skip_part(place, reason)
    if not tried:
        raise Skipped(reason)


if __name__ == "__main__":
    end_with(main)
