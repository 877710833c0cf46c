"""A recording of a day stays within --max-size, in memory and as a file, and loses no total.

usage: day.py DAY
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

MAX_BYTES = 16 << 20
DAY_US = 24 * 3600 * 1000000


def check(true, text):
    print("ok" if true else "FAILED", text)
    return true


def near(a, b, share=1e-6):
    return abs(a - b) <= share * max(a, b)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "day.json")
        run = subprocess.run([sys.argv[1], str(MAX_BYTES), path], check=True, capture_output=True,
                             text=True)
        size = path.stat().st_size
        file = json.loads(path.read_text())
    fed = collections.defaultdict(list)
    for line in run.stdout.splitlines():
        key, value = line.split()
        fed[key].append(int(value))
    memory = [n - fed["memory"][0] for n in fed["memory"]]
    facts = file["wallspy"]
    threads = facts["threads"]
    weights = {p["name"].split(" (")[0]: sum(p["weights"]) for p in file["profiles"]}
    jobs = [t for t in threads if t["name"].startswith("job")]
    runners = [t for t in threads if t["name"] in ("main", "runner")]
    return not all([
        check(max(memory) <= MAX_BYTES, f"{max(memory) / 1e6:.1f} MB at most while recording"),
        check(max(memory[6:]) < 1.5 * max(memory[:6]), "no more in the second half of the day"),
        check(fed["memory_after_writing"][0] < 2 * MAX_BYTES,
              f"{fed['memory_after_writing'][0] / 1e6:.1f} MB after writing"),
        check(size < MAX_BYTES, f"a file of {size / 1e6:.1f} MB"),
        check(facts["time_step_s"] > 0, f"in steps of {facts['time_step_s']} s"),
        check(facts["stacks_refused"] == 0 and facts["runs_refused"] == 0, "no stack is missing"),
        check(sum(t["samples"] for t in threads) == fed["samples"][0],
              f"{fed['samples'][0]} samples"),
        check(sum(t.get("threads", 1) for t in jobs) == fed["jobs"][0],
              f"{fed['jobs'][0]} threads that ended, {len(jobs)} rows"),
        check(sorted(t["run_ns"] for t in runners) == sorted(fed["run_ns"]), "run times are exact"),
        check(sorted(t["wait_cpu_ns"] for t in runners) == sorted(fed["wait_cpu_ns"]),
              "waits for a CPU too"),
        check(near(weights["ALL | cpu"], sum(fed["run_ns"]) / 1000),
              "the CPU profile has all of them"),
        check(all(weights[f"{name} | wall"] == DAY_US for name in ("main 1", "runner 2")),
              "each time line is a day long"),
        check(near(weights["ALL active | wall"], 2 * DAY_US + fed["jobs"][0] * 50000, 0.001),
              "all time is there"),
    ])


sys.exit(main())
