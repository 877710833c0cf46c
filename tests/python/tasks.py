"""asyncio tasks by name: each stands right below its own coroutine, and nowhere else.

usage: tasks.py WALLSPY (without it: the target)"""

import asyncio
import sys
import time

from support.wallspy import record_folded

FIRST = (3, 14)


def work():
    end = time.perf_counter() + 0.02
    while time.perf_counter() < end:
        pass


async def inner():
    work()
    await asyncio.sleep(0)


async def job_named():
    for _ in range(20):
        await inner()


async def job_numbered():
    for _ in range(20):
        await inner()


async def job_eager():
    work()
    work()


async def main_job():
    tasks = [asyncio.create_task(job_named(), name="n\xe4me \u2603"),
             asyncio.create_task(job_numbered())]
    await asyncio.gather(*tasks)
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    for _ in range(10):
        await asyncio.get_running_loop().create_task(job_eager(), name="eager")
    await asyncio.sleep(0.1)
    work()


def record(wallspy, *options):
    return record_folded(wallspy, ["-q", "-r", "200", *options], ["--", sys.executable, __file__])


def main():
    stacks, err = record(sys.argv[1], "--tasks")
    marked = [stack for stack, _ in stacks if any(f.startswith("[task") for f in stack)]
    if sys.version_info < FIRST:
        assert not marked and "--tasks needs 3.14" in " ".join(err.split()), err
        return
    # asyncio.run() runs these as tasks before it ends: one sample in many recordings.
    ends = {"BaseEventLoop.shutdown_asyncgens": "[task Task-",
            "BaseEventLoop.shutdown_default_executor": "[task Task-"}
    names = {**ends, "job_named": "[task n\xe4me \u2603]", "job_numbered": "[task Task-",
             "job_eager": "[task eager]", "main_job": "[task Task-1]"}
    seen = set()
    early = total = 0
    for stack, weight in stacks:
        marks = [i for i, frame in enumerate(stack) if frame.startswith("[task")]
        jobs = [frame for frame in stack if frame in names]
        assert bool(marks) <= bool(jobs) and len(marks) < 2, stack
        total += weight if jobs else 0
        early += weight if jobs and not marks else 0  # asyncio had been imported just before
        if marks:
            job = stack[marks[0] + 1]
            assert job == jobs[-1] and stack[marks[0]].startswith(names[job]), stack
            seen.add(job)
    assert seen >= set(names) - {"main_job", *ends}, seen
    assert early <= 0.03 * total, (early, total)
    stacks, _ = record(sys.argv[1])
    assert not any(frame.startswith("[task") for stack, _ in stacks for frame in stack)


if __name__ == "__main__":
    main() if len(sys.argv) > 1 else asyncio.run(main_job())
