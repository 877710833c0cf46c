"""What `dump --json` says of suspended asyncio tasks, against what the program itself finds by
cr_await and the like: 0 tasks, 1, 5,000, nested ones, async generators, groups, locks, streams,
threads; and while they move on all the time, chains that cannot be.

usage: await_chains.py WALLSPY (without it: await_chains.py idle|busy|many N, the target)"""

import asyncio
import collections
import contextlib
import ctypes
import gc
import json
import sys
import threading
import time

from support.outcome import Skipped, end_with
from support.targets import Target
from support.wallspy import dump_json

FIRST = (3, 11)


# ---- the target: one of each wait ----

async def deep(n):
    if n:
        return await deep(n - 1)
    await asyncio.Event().wait()


async def from_queue(queue):
    return await queue.get()


async def generate():
    yield 1
    await asyncio.sleep(3600)


async def over_generator():
    async for _ in generate():
        pass


@contextlib.asynccontextmanager
async def context():
    yield await asyncio.Event().wait()


async def in_context():
    async with context():
        pass


async def with_lock(lock):
    async with lock:
        await asyncio.sleep(3600)


async def gathering():
    await asyncio.gather(deep(1), deep(2))


async def grouping():
    async with asyncio.TaskGroup() as group:
        group.create_task(deep(3), name="child")
        group.create_task(deep(3), name="child")


async def with_limit():
    await asyncio.wait_for(asyncio.Event().wait(), 3600)


async def in_executor():
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 600)


async def on_future():
    await asyncio.get_running_loop().create_future()


async def on_task(task):
    await task


async def serve(reader, _):
    await reader.readline()


class Task(asyncio.Task):
    pass


async def start_all(n):
    queue, lock, keep = asyncio.Queue(), asyncio.Lock(), []

    def start(coroutine, name):
        keep.append(asyncio.create_task(coroutine, name=name))
        return keep[-1]
    for _ in range(n):
        start(from_queue(queue), "worker")
    for coroutine in (over_generator, in_context, gathering, grouping, with_limit, in_executor):
        start(coroutine(), coroutine.__name__)
    start(with_lock(lock), "holder")
    start(with_lock(lock), "waiter")
    start(deep(50), "déep ☃")
    start(deep(150), "too deep")
    start(on_task(start(on_future(), "future")), "on_task")
    keep.append(Task(deep(2), loop=asyncio.get_running_loop(), name="derived"))
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    keep.append(await asyncio.open_connection(*server.sockets[0].getsockname()))
    return keep


def chain_of(awaitable):
    """As the interpreter has it: functions, files and lines, outermost first."""
    chain = []
    while awaitable is not None:
        for prefix, following in (("cr", "cr_await"), ("ag", "ag_await"), ("gi", "gi_yieldfrom")):
            if hasattr(awaitable, prefix + "_frame"):
                code = getattr(awaitable, prefix + "_code")
                frame = getattr(awaitable, prefix + "_frame")
                chain.append([code.co_qualname, code.co_filename, frame.f_lineno])
                awaitable = getattr(awaitable, following)
                break
        else:  # a step of an async generator, which does not tell of which
            found = [x for x in gc.get_referents(awaitable)
                     if type(x).__name__ == "async_generator"]
            awaitable = found[0] if type(awaitable).__name__.startswith("async_gen") else None
    return chain[:100]


def tell(loop):
    """In a thread of its own, so that all tasks are suspended."""
    time.sleep(0.5)
    print(json.dumps([[t.get_name(), chain_of(t.get_coro())] for t in asyncio.all_tasks(loop)]),
          flush=True)


async def idle(n):
    keep = await start_all(n) if n else []
    threading.Thread(target=tell, args=[asyncio.get_running_loop()], daemon=True).start()
    await asyncio.sleep(600)
    del keep


async def a2():
    await asyncio.sleep(0)


async def a1():
    await a2()


async def b2():
    await asyncio.sleep(0)


async def b1():
    await b2()


async def hopper():
    while True:
        await a1()
        await b1()


async def busy(n):
    keep = [asyncio.create_task(hopper()) for _ in range(n)]
    print("[]", flush=True)
    await asyncio.sleep(600)
    del keep


async def many(n):
    """So many that the set of all of them has grown to 262,144 slots (CPython 3.11 to 3.13)."""
    event = asyncio.Event()
    keep = [asyncio.create_task(event.wait()) for _ in range(n)]
    await asyncio.sleep(0)
    print("[]", flush=True)
    await asyncio.sleep(600)
    del keep


def target(scene, n):
    ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1))  # PR_SET_PTRACER, PR_SET_PTRACER_ANY
    asyncio.run({"idle": idle, "busy": busy, "many": many}[scene](int(n)))


# ---- the test ----

def start(scene, n):
    return Target([sys.executable, __file__, scene, n])


def dump(wallspy, pid):
    said = dump_json(wallspy, pid)
    (process,) = said["processes"]
    (main,) = [t for t in process["threads"] if t["tid"] == pid]
    others = [t for thread in process["threads"] if thread is not main for t in thread["tasks"]]
    assert not others + process["tasks"], (others, process["tasks"])
    return said, main["tasks"]


def chain_said(task):
    return tuple((f["name"], f["file"], f["line"]) for f in reversed(task["frames"]))


def kind_of(task):
    return task["waits_for"] and task["waits_for"]["kind"]


def check_idle(wallspy, n):
    with start("idle", n) as process:
        truth = json.loads(process.first)
        said, tasks = dump(wallspy, process.pid)
    assert not said["tasks_moved"] and not said["tasks_cut"], said
    wanted = collections.Counter((name, tuple(map(tuple, chain))) for name, chain in truth)
    found = collections.Counter((t["name"], chain_said(t)) for t in tasks)
    assert wanted == found, (wanted - found, found - wanted)
    kinds = collections.Counter(kind_of(t) for t in tasks)
    assert kinds["queue"] == n, kinds
    if n == 0:
        assert kinds == {"sleep": 1}, kinds
        return
    assert len({t["waits_for"]["object"] for t in tasks if kind_of(t) == "queue"}) == 1, tasks
    wanted_kinds = {"over_generator": "sleep", "in_context": "event", "gathering": "gather",
                    "grouping": "tasks", "in_executor": "thread", "holder": "sleep",
                    "waiter": "lock", "future": "future", "on_task": "task", "derived": "event"}
    named = {t["name"]: t for t in tasks}
    for name, kind in wanted_kinds.items():
        assert kind_of(named[name]) == kind, (name, named[name])
    assert named["on_task"]["waits_for"]["task"] == "future", named["on_task"]
    assert kinds["stream"] == 1, kinds
    cut = [t["name"] for t in tasks if not t["complete"]]
    assert cut == ["too deep"], cut


def check_busy(wallspy):
    legal = {("hopper",), ("hopper", "a1"), ("hopper", "b1"), ("hopper", "a1", "a2"),
             ("hopper", "b1", "b2"), ("hopper", "a1", "a2", "sleep"),
             ("hopper", "b1", "b2", "sleep"), ("hopper", "a1", "a2", "sleep", "__sleep0"),
             ("hopper", "b1", "b2", "sleep", "__sleep0"), ("busy", "sleep")}
    seen = collections.Counter()
    with start("busy", 100) as process:
        for _ in range(10):
            said, tasks = dump(wallspy, process.pid)
            seen.update(tuple(name for name, _, _ in chain_said(t)) for t in tasks)
            assert len(tasks) + said["tasks_moved"] <= 101, (len(tasks), said["tasks_moved"])
    assert set(seen) <= legal, seen
    assert seen["busy", "sleep"] == 10, seen


def check_many(wallspy):
    with start("many", 100000) as process:
        said, tasks = dump(wallspy, process.pid)
    assert said["tasks_cut"] and 1000 < len(tasks) <= 10000, (said["tasks_cut"], len(tasks))


def main():
    if sys.version_info < FIRST:
        raise Skipped("wallspy finds suspended tasks from 3.11 on")
    for n in (0, 1, 5000):
        check_idle(sys.argv[1], n)
    check_busy(sys.argv[1])
    if sys.version_info < (3, 14):
        check_many(sys.argv[1])


if __name__ == "__main__":
    if sys.argv[1] in ("idle", "busy", "many"):
        target(*sys.argv[1:])
    else:
        end_with(main)
