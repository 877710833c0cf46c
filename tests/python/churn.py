"""Code objects that live for 2 ms, sampled 1000 times a second: each must be named.  Runs wallspy
on itself.

usage: churn.py WALLSPY (without it: the target)"""

import collections
import re
import subprocess
import sys
import tempfile
import time

SECONDS = 2


def wait(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def churn():
    end = time.perf_counter() + SECONDS
    made = 0
    while time.perf_counter() < end:
        source = "\n" * (made % 90) + f"def fresh_{made}(): wait(0.002)\nfresh_{made}()\n"
        exec(compile(source, f"<made {made}>", "exec"), {"wait": wait})
        made += 1
    print(made)


def record(wallspy):
    """Returns how many functions were made, and the time of each frame by name."""
    with tempfile.NamedTemporaryFile(suffix=".folded") as out:
        command = [wallspy, "-q", "-r", "1000", "-o", out.name, "--"]
        made = subprocess.run([*command, sys.executable, __file__], stdout=subprocess.PIPE,
                              check=True).stdout
        times = collections.Counter()
        for line in open(out.name):
            stack, weight = line.rsplit(" ", 1)
            for name in set(stack.split(";")):
                times[name] += int(weight)
    return int(made), times


def main():
    made, times = record(sys.argv[1])
    unknown = times["[unknown code]"]
    fresh = {name: us for name, us in times.items() if re.fullmatch(r"fresh_\d+", name)}
    print(f"{made} functions made, {len(fresh)} seen; unknown for {unknown} µs")
    assert unknown == 0, f"unknown code for {unknown} µs"
    assert len(fresh) > 10, f"only {len(fresh)} of {made} functions seen"
    strange = [name for name in fresh if int(name.split("_")[1]) >= made]
    assert not strange, f"never made: {strange}"


if __name__ == "__main__":
    main() if len(sys.argv) > 1 else churn()
