"""A target for scenes.py: the threads of one scene say where they are and block on that very line.

usage: PYTHON scene_target.py SCENE FOLDER

What a thread runs is told in FOLDER/TID, by faulthandler and as FILE:LINE:NAME, once for each
interpreter on its stack.  On stdout: `expect N` threads, then for each `blocked PID TID CALL`, just
before that system call.  Runs on 3.6 and later.
"""
import asyncio
import atexit
import ctypes
import faulthandler
import functools
import gc
import importlib
import os
import signal
import sys
import threading
import traceback
import weakref

SCENE, FOLDER = sys.argv[1:]
LIBC = ctypes.CDLL(None)
SYS_GETTID = 186


def gettid():
    return LIBC.syscall(SYS_GETTID)


def say(call="read", end=True):
    """Tells what this thread runs, this function included."""
    tid = gettid()
    with open("%s/%d" % (FOLDER, tid), "a") as f:
        f.write("interpreter main\n"), f.flush()
        faulthandler.dump_traceback(f, all_threads=False)
        for frame, line in traceback.walk_stack(sys._getframe()):
            f.write("%s:%d:%s\n" % (frame.f_code.co_filename, line, frame.f_code.co_name))
    if end:
        os.write(1, b"blocked %d %d %s\n" % (os.getpid(), tid, call.encode()))


def block(*_): say(), os.read(0, 1)


# ---- recursion ----

def recurse(n):
    return recurse(n - 1) if n else block()


def alternate(n):
    """Each level through C: a generator expression in max()."""
    return max(alternate(n - 1) for _ in "x") if n else block()  #: max


class Recursive:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return repr(Recursive(self.n - 1)) if self.n else block()  #: repr

    def __getitem__(self, i):
        return self[i - 1] if i else block()


def recursion():
    return [lambda: recurse(95), lambda: alternate(20), lambda: repr(Recursive(15)),  #: repr
            lambda: Recursive(0)[15]]


def deep():
    sys.setrecursionlimit(2000)
    through_c = 100 if hasattr(sys, "gettotalrefcount") else 250  # debug builds allow less of it
    return [lambda: recurse(900), lambda: alternate(through_c)]


# ---- C that calls back ----

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def by_qsort(compare):
    two = (ctypes.c_int * 2)(2, 1)
    LIBC.qsort(two, ctypes.c_size_t(2), ctypes.c_size_t(4), COMPARE(compare))  #: qsort


def first(*_): by_qsort(second)


def second(*_): by_qsort(third)


def third(*_): recurse(2)


def callbacks_ctypes():
    return [lambda: by_qsort(first), lambda: by_qsort(block)]


def callbacks_extension():
    import scene_ext

    def ext_first(): scene_ext.call(ext_second)  #: ext

    def ext_second(): scene_ext.call(ext_third)  #: ext

    def ext_third(): scene_ext.call(block)  #: ext

    def back_in_ext(*_): scene_ext.call(ext_qsort)  #: ext

    def ext_qsort(): by_qsort(back_in_sort)

    def back_in_sort(*_): sorted([1], key=block)  #: sort

    return [lambda: scene_ext.call(ext_first),  #: ext
            lambda: by_qsort(back_in_ext),
            lambda: max([1], key=back_in_ext)]  #: max


class FileName(str):
    """As numpy.str_: its characters lie elsewhere."""


class Slots:
    def __getattr__(self, name):
        return block()

    def __eq__(self, other):
        return recurse(1)

    __hash__ = None

    @property
    def worth(self):
        return functools.reduce(lambda a, b: recurse(1), [1, 2])  #: reduce

    def __iter__(self):
        return map(block, [1])

    def __lt__(self, other):
        return bool(block())

    def __del__(self):
        pass


def slots():
    s = Slots()
    cached = functools.lru_cache()(lambda: recurse(2))
    return [lambda: s.missing,  #: getattr
            lambda: [s] == [Slots()],  #: equal
            lambda: s.worth,  #: getattr
            lambda: list(s),  #: list
            lambda: sorted([s, Slots()]),  #: sort
            lambda: cached(),  #: cached
            functools.partial(recurse, 3),
            lambda: exec("(lambda: recurse(1))()", globals()),
            lambda: exec(compile("(lambda: recurse(1))()", FileName("/a/file.py"), "exec"),
                         globals()),
            lambda: eval("[recurse(1) for _ in range(1)]", globals())]


# ---- generators and coroutines ----

def generator(n):
    yield n
    recurse(n)
    yield n


def delegating(n):
    yield from generator(n)


def guarded():
    try:
        yield
    finally:
        recurse(1)


def close():
    g = guarded()
    next(g)
    g.close()  #: close


def throw():
    g = guarded()
    next(g)
    g.throw(ValueError())  #: throw


def expressions():
    return sum(recurse(2) for _ in (i for i in delegating(1)))  #: sum


def generators():
    return [lambda: list(delegating(3)),  #: list
            close, throw, expressions,
            lambda: [x for x in delegating(2)]]


class Context:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        recurse(1)


class Counter:
    def __init__(self):
        self.n = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.n += 1
        if self.n > 1:
            recurse(1)
        return self.n


class Awaitable:
    def __await__(self):
        yield from delegating(1)


async def awaits(n):
    return await (awaits(n - 1) if n else in_context())


async def in_context():
    async with Context():
        await asyncio.sleep(0)


async def in_loop():
    async for _ in Counter():
        pass


async def yields():
    yield 1
    recurse(1)


async def in_comprehension():
    return [x async for x in yields()]  #: anext


async def in_tasks():
    await asyncio.gather(awaits(1), asyncio.ensure_future(awaits(3)))


def run(coroutine):
    asyncio.new_event_loop().run_until_complete(coroutine)


def coroutines():
    def by_hand():
        c = Awaitable().__await__()
        for _ in c:
            pass
    return [lambda: run(awaits(4)), lambda: run(in_loop()), lambda: run(in_comprehension()),
            lambda: run(in_tasks()), by_hand]


# ---- exceptions ----

def raises(n):
    try:
        1 // 0 if n == 0 else raises(n - 1)
    except ZeroDivisionError as e:
        raise KeyError(n) from e


def in_handler():
    try:
        raises(3)
    except KeyError:
        try:
            raises(1)
        except KeyError:
            recurse(1)


def in_finally():
    try:
        raise ValueError
    finally:
        recurse(1)


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            raises(2)
        finally:
            recurse(1)


def in_exit():
    with Manager():
        with Manager():
            raise ValueError


def in_match():
    class Strange(Exception):
        def __init__(self):
            recurse(1)
    raise Strange  #: raise


def exceptions():
    return [in_handler, in_finally, in_exit, in_match]


# ---- __init__ ----

class Base:
    def __init__(self, deep):
        if deep:
            recurse(1)


class Middle(Base):
    def __init__(self, deep):
        super().__init__(deep)


class Top(Middle):
    def __init__(self, deep):
        Middle.__init__(self, deep)


class Holder:
    def __init__(self, deep):
        self.held = Top(deep)


class Meta(type):
    def __call__(cls, *args):
        return super().__call__(*args)

    def __new__(mcs, name, bases, namespace):
        return super().__new__(mcs, name, bases, namespace)


class Made(metaclass=Meta):
    def __new__(cls, deep):
        self = super().__new__(cls)
        self.inner = Holder(deep)
        return self


class Sub:
    def __init_subclass__(cls):
        recurse(1)


def warm(make):
    """From 3.13 on a specialised call has a frame of the interpreter's below __init__."""
    for i in range(200):
        make(i == 199)


def init():
    def subclass():
        class _Derived(Sub):  #: subclass
            pass
    return [lambda: warm(Holder), lambda: warm(lambda deep: Holder(deep)), lambda: warm(Made),
            lambda: Holder(True), subclass]


# ---- threads, interpreters, processes ----

def threads():
    def starts():
        thread = threading.Thread(target=recurse, args=(4,))
        thread.start()
        block()
    timer = threading.Timer(0, recurse, (1,))
    return [functools.partial(recurse, n) for n in range(10)] + [starts, timer.run]


threads.more = 1

IN_SUB = """
import os, sys
try: import faulthandler
except ImportError: faulthandler = None  # from 3.12 on, not in one with a GIL of its own
def say(end):
    with open("FOLDER/TID", "a") as f:
        f.write("interpreter LEVEL\\n"), f.flush()
        faulthandler and faulthandler.dump_traceback(f, False)
        frame = sys._getframe()
        while frame:
            place = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
            f.write("%s:%d:%s\\n" % place)
            frame = frame.f_back
    if end: os.write(1, b"blocked PID TID read\\n")
def in_sub(n): return in_sub(n - 1) if n else enter()
ENTER
in_sub(3)
"""
ENTER_BLOCK = "def enter(): say(True), os.read(0, 1)"
ENTER_SUB = """
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
SUB = interpreters.create()
def enter(): say(False), interpreters.run_string(SUB, %r)
"""
ENTER_BACK = "import scene_ext\ndef enter(): say(False), scene_ext.back()"


def sub_code(level, enter):
    code = IN_SUB.replace("ENTER", enter)
    for word, value in (("FOLDER", FOLDER), ("PID", os.getpid()), ("TID", gettid()),
                        ("LEVEL", level)):
        code = code.replace(word, str(value))
    return code


def sub_interpreters():
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
    else:
        import _xxsubinterpreters as interpreters

    def one():
        sub, code = interpreters.create(), sub_code("sub", ENTER_BLOCK)
        say(end=False), interpreters.run_string(sub, code)  #: run_string

    def two():
        inner = sub_code("inner", ENTER_BLOCK)
        sub, code = interpreters.create(), sub_code("sub", ENTER_SUB % inner)
        say(end=False), interpreters.run_string(sub, code)  #: run_string

    def in_max(): max([1], key=lambda _: one())  #: max
    return [one] if sys.version_info < (3, 9) else [one, two, in_max]


def sub_interleaved():
    import scene_ext

    def there_and_back():
        code = sub_code("sub", ENTER_BACK)
        at_home = functools.partial(recurse, 2)
        say(end=False), scene_ext.in_sub(code, at_home)  #: in_sub
    return [there_and_back]


def forks(n):
    if n:
        return forks(n - 1)
    os.fork()
    recurse(2)


def fork():
    return [lambda: forks(2)]


fork.more = 1


def fork_in_thread():
    return [functools.partial(recurse, 1), lambda: forks(1), functools.partial(recurse, 2)]


fork_in_thread.more = 1


def imports():
    folder = FOLDER + "/modules"
    os.makedirs(folder + "/package")
    sources = {"outer": "import package.inner\n", "package/__init__": "\nimport sys\n",
               "package/inner": "class C:\n    from . import innermost\n",
               "package/innermost": "import __main__\n\ndef f(): __main__.recurse(1)\n\nf()\n"}
    for name, source in sources.items():
        with open("%s/%s.py" % (folder, name), "w") as f:
            f.write(source)
    sys.path.insert(0, folder)
    return [lambda: importlib.import_module("outer")]


# ---- greenlets ----

def greenlets():
    from greenlet import getcurrent, greenlet

    def inside():
        return max([1], key=lambda _: recurse(2))  #: max

    def one():
        greenlet(inside).switch()

    def nested_deep():
        """Blocks in a greenlet that another, not its parent, switched to."""
        parent, waiting = getcurrent(), greenlet(lambda: (parent.switch(), inside()))
        waiting.switch()
        greenlet(lambda: sorted([1], key=lambda _: waiting.switch())).switch()

    def back_in_parent():
        """Blocks in the first one, below which another has left its frames."""
        parent = getcurrent()
        other = greenlet(lambda: sorted([1], key=lambda _: parent.switch()))
        other.switch()
        inside()

    def back_deep_in_parent():
        parent = getcurrent()

        def switch_deep(n):
            return max([n], key=lambda n: switch_deep(n - 1)) if n else parent.switch()
        kept = [greenlet(lambda: switch_deep(9)) for _ in range(3)]
        for g in kept:
            sorted([1], key=lambda _: g.switch())
        max([1], key=lambda _: inside())  #: max
    return [one, nested_deep, back_in_parent, back_deep_in_parent]


# ---- what comes in between: collection, signals, tracing, exit ----

class Cycle:
    def __init__(self, at_end):
        self.self, self.at_end = self, at_end

    def __del__(self):
        self.at_end and self.at_end()


def forget(at_end):
    Cycle(at_end)


def collect_by_hand():
    forget(lambda: recurse(1))
    gc.collect()  #: collect


def collect_by_allocation():
    gc.enable()
    gc.set_threshold(50, 5, 5)
    forget(lambda: recurse(1))
    kept = []
    while True:  #: collect
        kept.append([kept])  #: collect


def by_weakref():
    made = Cycle(None)
    ref = weakref.ref(made, lambda _: recurse(1))
    del made
    gc.collect()  #: collect
    return ref


def by_count():
    class Counted:
        def __del__(self):
            recurse(1)
    Counted()  #: dealloc


class Counted:
    def __del__(self):
        recurse(1)


class Holding:
    def __del__(self):
        held = Counted()


def leave(_):
    held = Counted()


def leave_twice(_):
    held = Holding()


def leave_generator():
    held = Counted()
    yield 1


def left():
    """Destructors of what the last frame of an activation of the eval loop held, when that was
    left."""
    if sys.version_info[:3] == (3, 13, 0):
        return []  # faulthandler crashes
    return [lambda: max([1], key=leave),  #: left
            lambda: max([1], key=leave_twice),  #: left
            lambda: list(leave_generator())]  #: left


def garbage_del():
    gc.disable()
    return [collect_by_hand, by_count] + left()


def garbage_weakref():
    gc.disable()
    return [by_weakref]


def garbage_automatic():
    gc.disable()
    return [collect_by_allocation]


def signals():
    """The main thread's own call is interrupted."""
    def in_handler(*_): recurse(1)

    def interrupted():
        signal.signal(signal.SIGALRM, in_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        end = threading.Event()
        end.wait(100)
    return interrupted


def tracing():
    def traced():  #: trace
        return 1

    def on_event(frame, event, _):
        if frame.f_code is traced.__code__:
            recurse(1)

    def by_trace():
        sys.settrace(on_event)
        traced()  #: trace

    def by_profile():
        sys.setprofile(on_event)
        traced()  #: trace
    return [by_trace, by_profile]


def at_exit():
    def leave():
        atexit.register(recurse, 2)
        sys.exit()
    return leave


# ---- the GIL ----

def gil():
    """One thread holds it in C and blocks; the others, out of their system calls, want it."""
    keeping = ctypes.PyDLL(None)
    read_end, write_end = os.pipe()
    waiting, byte, n = {os.getpid(): 0}, ctypes.create_string_buffer(1), 4

    def wants(deep):
        if deep:
            return wants(deep - 1)
        waiting[gettid()] = read_end
        say("futex"), os.read(read_end, 1)

    def reads(tid, fd):
        with open("/proc/self/task/%d/syscall" % tid) as f:
            return f.read().split()[:2] == ["0", hex(fd)]

    def holds():
        while len(waiting) <= n or not all(reads(*item) for item in list(waiting.items())):
            pass
        sys.setswitchinterval(1000)
        say(), keeping.write(write_end, b"1234", 4), keeping.read(0, byte, 1)
    return [functools.partial(wants, i) for i in range(n)] + [holds]


def main():
    LIBC.prctl(0x59616d61, ctypes.c_ulong(-1))  # PR_SET_PTRACER, PR_SET_PTRACER_ANY
    scene = globals()[SCENE]
    work = scene()
    works = work if isinstance(work, list) else []
    for w in works:
        threading.Thread(target=w, daemon=True).start()
    os.write(1, b"expect %d\n" % (len(works) + 1 + getattr(scene, "more", 0)))
    block() if works else work()


main()
