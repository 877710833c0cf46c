"""Compares the stacks of `wallspy dump --json` with what a target says of itself, scene by scene.

usage: PYTHON scenes.py WALLSPY WORK_DIR SCENE...      the target runs under the same interpreter

WORK_DIR keeps what is installed for a scene (greenlet).  Each scene is dumped three times: as users
do, with all threads held together, and without a stop.
"""
import fcntl
import itertools
import linecache
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile

from support.outcome import Skipped, end_with
from support.processes import system_call
from support.targets import Target
from support.wallspy import dump_json

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = [], ["--freeze"], ["--no-stop"]
TARGET = os.path.join(HERE, "scene_target.py")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
CALLS = {"read": "0", "futex": "202"}
RESTARTED = "219"  # restart_syscall: of a futex that had been interrupted

# A line of the target ends in `#: WORD` if native frames are to be seen between its Python frame
# and the next one inwards; else none are.  They are written `module:function `, innermost first;
# those of a module without symbols are module+0xoffset, and the interpreter's own without a name
# not shown.
# what others inline, as Py_DECREF, is a function there
DEBUG_BUILD = hasattr(sys, "gettotalrefcount")


def own(*names):
    """Functions of the interpreter that are not internal, where it has names."""
    names = (r"[^:\s]+",) if DEBUG_BUILD else names
    return r"((lib)?python3[^:]*:(%s)(_impl)?(\.\S*)? )*" % "|".join(names)


def of(module):
    return r"((%s)[^:]*:\S+ )+" % module


COLLECT = own("finalize_garbage", "handle_weakrefs", r"_?gc_collect\w*", r"collect\w*",
              r"_?PyObject_GC_\w*", "_Py_RunGC", r"_PyGC_\w*", "PyList_New", "gc_alloc")
DROP = r"_?Py_X?DECREF\w*", r"PyStackRef_X?CLOSE\w*"
NATIVE = {
    "anext": own("async_gen_asend_(send|iternext)", "_PyAsyncGenASend_Send"),
    "cached": own("bounded_lru_cache_wrapper"),
    "close": own("gen_close"),
    "collect": COLLECT + (r"note:\[gc\] " + COLLECT if sys.version_info >= (3, 7) else ""),
    "dealloc": own("subtype_dealloc", "_Py_Dealloc", *DROP),
    "equal": own("(do|list)_richcompare", "PyObject_RichCompare(Bool)?"),
    "ext": "".join("scene_ext[^:]*:ext_%s " % name for name in ("inner", "middle", "call")),
    "getattr": own("_?PyObject_GetAttr(StackRef)?", "_PyObject_GenericGetAttrWithDict",
                   "_Py_slot_tp_getattr_hook"),
    "in_sub": of("scene_ext"),
    "left": own("builtin_max", "min_max", "_?list_?extend(_iter_lock_held)?",
                "list_(__init__|init|vectorcall)", "list___init__", "subtype_dealloc",
                "_Py_Dealloc",
                "frame_dealloc", r"_PyFrame_Clear\w*", r"clear_(thread|gen)_frame", r"gen_\w*",
                *DROP),
    "list": own("map_next", "_?list_?extend(_iter_lock_held)?", "list_(__init__|init|vectorcall)",
                "list___init__"),
    "max": own("builtin_max", "min_max"),
    "qsort": of("_ctypes|libffi") + of("libc") + of("_ctypes|libffi"),
    "raise": own("do_raise"),
    "reduce": own("functools_reduce"),
    "repr": own("PyObject_Repr"),
    "run_string": "(%s)?" % of("_xxsubinterpreters|_interpreters"),
    "sort": own("builtin_sorted", "list_?sort", "binarysort", "count_run", "unsafe_object_compare",
                "do_richcompare", "PyObject_RichCompare(Bool)?"),
    "subclass": own("(type_new_)?init_subclass", "type_new"),
    "sum": own("builtin_sum"),
    "throw": own("_?gen_throw"),
    "trace": own("(trace|profile)_trampoline", r"call_(trace|profile)\w*",
                 r"sys_(trace|profile)_\w*",
                 r"_?(Py_)?call_\w*instrument\w*", "trace_call_function"),
}
# The same for lines of the standard library, by file name and function.
NATIVE_IN = {
    ("events.py", "_run"): "(%s)?" % of("_asyncio"),  # 3.15 has it inside
    ("<string>", "enter"): "(%s)?" % of("_xxsubinterpreters|_interpreters|scene_ext"),
    ("<script>", "enter"): "(%s)?" % of("_interpreters"),  # 3.15
    ("threading.py", "wait"): own("acquire_timed", "lock_PyThread_acquire_lock",
                                  "PyThread_acquire_lock_timed_with_retries"),
    ("<frozen importlib._bootstrap>", "_call_with_frames_removed"): own("builtin___import__"),
}
THREAD_ROOT = of("libc")
AT_EXIT = own("atexit_callfuncs", "call_py_exitfuncs", "_?Py_Finalize(Ex)?", "Py_Exit",
              "handle_system_exit", "_?PyErr_PrintEx")
MAIN_ROOT = r"(\S*python3[^:]*:main )?" + of("libc") + r"\S*python3[^:]*:_start "


# ---- the target ----

def frame_of(match):
    return match.group(1), int(match.group(2)), match.group(3)


def parse_dump(text):
    """[(file, line, name)] of one interpreter, as the interpreter's frame objects have them,
    without the function that tells it.  faulthandler, which reads the frames as wallspy does, must
    have said the same, but that it stops after some 100, and takes the frame after 3.15's internal
    one below __init__ for invalid."""
    frames = [frame_of(m) for m in re.finditer(r"^([^ \n].*):(\d+):(.*)$", text, re.M)]
    dumped = re.split(r"  .*\?\?\?|  <invalid|  \.\.\.", text)[0]
    dumped = [frame_of(m)
              for m in re.finditer(r'^  File "(.*)", line (\d+) in (.*)$', dumped, re.M)]
    assert frames[1:len(dumped)] == dumped[1:], text  # [0] is at two lines
    return frames[1:]


def parse_truth(path):
    """[(interpreter, frames)] as told."""
    with open(path) as f:
        parts = re.split(r"^interpreter (\w+)\n", f.read(), flags=re.M)[1:]
    return [(name, parse_dump(text)) for name, text in zip(parts[::2], parts[1::2])]


def interleave(dumps):
    """The whole stack of a thread: each dump tells all frames of its interpreter, those told before
    included."""
    told, stack = {}, []
    for interpreter, frames in dumps:
        before = told.get(interpreter, [])
        assert frames[len(frames) - len(before):] == before, dumps
        stack = frames[:len(frames) - len(before)] + stack
        told[interpreter] = frames
    return stack


class SceneTarget(Target):
    def __init__(self, scene, folder, path):
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
        if FREE_THREADED:
            env["PYTHON_GIL"] = "0"  # an extension that knows nothing of it would enable it
        self.scene, self.folder, self.threads = scene, folder, {}
        super().__init__([sys.executable, TARGET, scene, folder], env=env, start_new_session=True)

    def wait(self):
        """Until all threads have told where they are, and are there."""
        expected, words = None, self.first.split()
        while True:
            if not words:
                raise SystemExit("the target died")
            if words[0] == "expect":
                expected = int(words[1])
            else:
                self.threads[int(words[2])] = int(words[1]), CALLS[words[3]]
            if expected == len(self.threads):
                break
            words = self.line(60).split()
        self.settle()

    def settle(self):
        """Until all threads are in their calls; a dump may have interrupted them."""
        for tid, (pid, call) in self.threads.items():
            while system_call(pid, tid).split()[0] not in (call, RESTARTED):
                pass

    def truth(self):
        return {tid: interleave(parse_truth("%s/%d" % (self.folder, tid))) for tid in self.threads}

    def pids(self):
        return ",".join(sorted({str(pid) for pid, _ in self.threads.values()}))

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        super().end()


# ---- the comparison ----

def dump(wallspy, target, mode):
    """The threads; on a busy machine 5 ms may be too short to hold them all."""
    for _ in range(20):
        target.settle()
        processes = dump_json(wallspy, target.pids(), *mode)["processes"]
        threads = {t["tid"]: (p, t) for p in processes for t in p["threads"]}
        if mode != ["--freeze"] or all(t["frames"] and t["complete"] for _, t in threads.values()):
            break
    return threads


def show(frame):
    if frame["kind"] == "python":
        return "  %s:%s %s" % (frame["file"], frame.get("line"), frame["name"])
    return "    %s:%s" % (frame.get("module", frame["kind"]), frame["name"].replace(" ", "_"))


def split(frames):
    """The Python frames as the truth has them, and before, between and after them the others."""
    python, others = [], [""]
    for frame in frames:
        if frame["kind"] == "python":
            name = frame["name"].split(".")[-1]
            python.append((frame["file"], frame.get("line"), name))
            others.append("")
        else:
            others[-1] += show(frame).strip() + " "
    return python, others


def native_below(frame):
    """What native frames FRAME's line leads to."""
    file, line, name = frame
    word = re.search(r"#: (.*)$", linecache.getline(file, line)) if file == TARGET else None
    if word:
        return NATIVE[word.group(1)]
    inlined = own() if DEBUG_BUILD else ""
    return NATIVE_IN.get((os.path.basename(file), name), "") + inlined


def root_of(scene, outermost):
    """What the thread's root is, below its outermost Python frame."""
    if outermost[2] == "<module>":
        return MAIN_ROOT
    if outermost[2].startswith("_bootstrap"):
        return THREAD_ROOT
    return r"note:\[greenlet\] " if scene == "greenlets" else AT_EXIT + MAIN_ROOT


def compare_python(python, truth):
    for i, (got, want) in enumerate(itertools.zip_longest(python, truth)):
        if got != want:
            yield "Python frame %d: got %s, want %s" % (i, got, want)
            return


def compare_native(scene, call, python, others):
    leaf = r"note:\[waiting_for_GIL\] " if call == CALLS[
        "futex"] else r"note:read_pipe_\[blocked\] "
    if not re.match(leaf, others[0]):
        yield "leaf: %s" % others[0]
    wrong = [(frame, seen) for frame, seen in zip(python[1:], others[1:-1])
             if not re.match(native_below(frame) + "$", seen)]
    for frame, seen in sorted(set(wrong)):
        yield "from %s: %s" % (frame, seen)
    if not re.match(root_of(scene, python[-1]) + "$", others[-1]):
        yield "root: %s" % others[-1]


def lacks_registers(mode, innermost):
    """libffi's caller of C functions keeps its frame in a register, which read() had no need to
    save: without a stop nobody knows it, and the stack says that native frames are missing."""
    return mode == ["--no-stop"] and innermost[2] == "holds"


def gil_of(call, innermost):
    if FREE_THREADED:
        return None
    if call == CALLS["futex"]:
        return "waiting"
    return "holding" if innermost[2] == "holds" else "none"


def compare_thread(scene, mode, truth, call, thread):
    python, others = split(thread["frames"])
    yield from compare_python(python, truth)
    if lacks_registers(mode, truth[0]):
        if "note:[native_frames_missing]" not in others[0] or thread["complete"]:
            yield "without registers: %s, complete %s" % (others, thread["complete"])
    elif python == truth:
        yield from compare_native(scene, call, python, others)
        if not thread["complete"]:
            yield "not complete"
    if thread["gil"] != gil_of(call, truth[0]):
        yield "GIL: %s" % thread["gil"]


def compare(target, mode, truth, threads):
    version = sys.version.split()[0].rstrip("+")  # + is what follows a release in its repository
    for tid, (pid, call) in target.threads.items():
        if tid not in threads:
            yield "%d: not seen" % tid
            continue
        process, thread = threads[tid]
        for problem in compare_thread(target.scene, mode, truth[tid], call, thread):
            yield "%d: %s" % (tid, problem)
        if process["pid"] != pid or process["python"] != version:
            yield "%d: pid %d, python %s" % (tid, process["pid"], process["python"])


def show_all(target, truth, threads):
    for tid in target.threads:
        print(tid, "got", *map(show, threads[tid][1]["frames"]), "want",
              *("  %s:%d %s" % frame for frame in truth[tid]), sep="\n")


# ---- what a scene needs ----

def extension(folder):
    """Compiles scene_ext.c with this interpreter's own headers."""
    paths = sysconfig.get_paths()
    includes = [paths["include"], paths["platinclude"], os.path.dirname(paths["include"])]
    if not os.path.exists(os.path.join(paths["include"], "Python.h")):
        raise Skipped("no headers of CPython %d.%d" % sys.version_info[:2])
    if not shutil.which("cc"):
        raise Skipped("no C compiler")
    subprocess.check_call(
        ["cc", "-w", "-g", "-O2", "-fPIC", "-shared", "-o", os.path.join(folder, "scene_ext.so"),
         os.path.join(HERE, "scene_ext.c")] + ["-I" + include for include in includes])
    return folder


def greenlet(work):
    """Installs greenlet for this interpreter, by the pip of whatever python3 has one."""
    version = "%d.%d" % sys.version_info[:2]
    folder = os.path.join(work, "greenlet-" + version)
    os.makedirs(work, exist_ok=True)
    # tests of other versions run at the same time
    with open(os.path.join(work, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install_greenlet(work, folder, version)
    return folder


def install_greenlet(work, folder, version):
    if not os.path.exists(os.path.join(folder, "greenlet")):
        pip = os.path.join(work, "pip", "bin", "pip")
        if not os.path.exists(pip):
            subprocess.check_call(["python3", "-m", "venv", "--clear", os.path.join(work, "pip")])
        if subprocess.call([pip, "-q", "install", "--disable-pip-version-check", "--target", folder,
                            "--only-binary", ":all:", "--python-version", version, "greenlet"]):
            raise Skipped("greenlet cannot be installed for CPython " + version)


def needs(scene, folder, work):
    """Where the target looks for modules."""
    if scene in ("sub_interpreters",) and sys.version_info < (3, 8):
        raise Skipped("no module for sub-interpreters before CPython 3.8")
    if FREE_THREADED and scene in ("gil", "greenlets", "sub_interleaved"):
        raise Skipped("not without a GIL: it, greenlet's wheel, our extension in sub-interpreters")
    path = []
    if scene in ("callbacks_extension", "sub_interleaved"):
        path.append(extension(folder))
    if scene == "greenlets":
        path.append(greenlet(work))
    return path


def play(wallspy, scene, work):
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        with SceneTarget(scene, folder, needs(scene, folder, work)) as target:
            target.wait()
            truth = target.truth()
            for mode in MODES:
                threads = dump(wallspy, target, mode)
                found = list(compare(target, mode, truth, threads))
                problems += [" ".join(mode + [text]) for text in found]
                if found and "SHOW" in os.environ:
                    show_all(target, truth, threads)
    print(*problems, "%s: %d threads, %d frames, %d problems" % (
        scene, len(truth), sum(map(len, truth.values())), len(problems)), sep="\n")
    return bool(problems)


def main():
    wallspy, work = sys.argv[1:3]
    return not any([play(wallspy, scene, work) for scene in sys.argv[3:]])


if __name__ == "__main__":
    end_with(main)
