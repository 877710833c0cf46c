"""Dumps as data: what `wallspy dump --json` writes of a rank, put together from a few words."""
import gzip
import json

LIBC = "libc.so.6"


def native(name, module=LIBC, line=0, **more):
    """A native frame; MORE: keys such as inlined."""
    return dict({"kind": "native", "name": name, "module": module, "file": f"[{module}]",
                 "address": "0x7f00"}, **({"line": line} if line else {}), **more)


def python(name, line, file="/job/train.py"):
    return {"kind": "python", "name": name, "file": file, "line": line}


ENTRY = [native("__libc_start_main"), native("_start", "python3.11")]
MAIN = [python("<module>", 30), *ENTRY]
ALL_REDUCE = [native("recv"), native("sock_recv", "_socket.cpython-311.so"),
              python("all_reduce", 9), python("step", 20), *MAIN]
LOAD = [native("read"), python("load_batch", 5), python("step", 19), *MAIN]


def thread(tid, frames, *, state="blocked", call="recvfrom", path="socket", kind="socket",
           ran=False, name="python3"):
    return {"tid": tid, "name": name, "python": True, "state": state,
            "syscall": {"name": call, "args": ["0x3"], "path": path} if call else None,
            "gil": "none", "waits_for": {"kind": kind} if kind else None, "ran": ran,
            "for_at_least_s": None if ran else 0.5, "complete": True, "frames": frames,
            "tasks": []}


def waiting(tid=1, frames=None, **how):
    """A thread that waits in all_reduce()."""
    return thread(tid, frames or ALL_REDUCE, **how)


def loading(tid=1):
    """A thread that reads a file."""
    return thread(tid, LOAD, call="read", path="/data/shard-7.bin", kind=None)


def process(rank, threads, *, world=None, pid=None, command=("python3", "train.py"), **more):
    ret = {"pid": pid or 1000 + (rank or 0)}
    if rank is not None:
        ret["rank"] = str(rank)
    if world:
        ret["world_size"] = str(world)
    ret.update(more, command=list(command), python="3.11.7", stuck=False, threads=threads, tasks=[])
    return ret


def dump(processes, *, host="node0", time="2026-11-28T09:00:00Z"):
    return {"schema": "dump/1", "wallspy": "0.1.0", "host": host, "time": time, "look_s": 0.5,
            "circles": [], "processes": processes, "tasks_moved": 0, "tasks_cut": False}


def job(n, odd=None, *, absent=(), per_host=4, main=waiting, time="2026-11-28T09:00:00Z"):
    """The dumps of N ranks, each its own, that do MAIN; ODD: rank to its main thread."""
    odd = odd or {}
    return [dump([process(rank, [odd.get(rank) or main()], world=n)],
                 host=f"node{rank // per_host}", time=time)
            for rank in range(n) if rank not in absent]


def write(folder, dumps, compressed=False):
    """A file for each of DUMPS below FOLDER."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, one in enumerate(dumps):
        data = (one if isinstance(one, str) else json.dumps(one)).encode()
        name = f"{i:05}.json" + (".gz" if compressed else "")
        (folder / name).write_bytes(gzip.compress(data, 1) if compressed else data)
