"""Code that no file holds is named, by what JIT compilers tell debuggers and perf.

usage: jit.py WALLSPY TARGET (tests/targets/c/jit.c)"""

import os
import sys

from support.targets import Target
from support.wallspy import succeed


def dump(*argv):
    """What wallspy says of the target while it blocks: what it prints, and its messages."""
    with Target(argv, "ready") as target:
        ran = succeed([sys.argv[1], "dump", "--full", target.pid])
        target.say("x")
        target.rest()
    if os.path.exists(f"/tmp/perf-{target.pid}.map"):
        os.unlink(f"/tmp/perf-{target.pid}.map")
    return ran.stdout, " ".join(ran.stderr.split())


def main():
    told, messages = dump(sys.argv[2])
    print(told, messages)
    assert "no names" not in messages
    for name in "compiled_inner", "compiled_outer":
        assert told.count(name) == 1, name
    assert "jit_compiled.c" in told, "no lines"
    assert "[guessed]" not in told
    mapped, messages = dump(sys.argv[2], "map")
    print(mapped, messages)
    assert "no names" not in messages
    for name in "compiled_inner", "compiled_outer":
        assert mapped.count(f"{name} from a map ([jit])") == 1, name
    assert "[guessed]" not in mapped
    _, messages = dump(sys.argv[2], "silent")
    hint = "at run time has no names (2 places): have its compiler write /tmp/perf-PID.map."
    assert messages.count(hint) == 1, messages


main()
