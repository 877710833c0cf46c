"""Deep stacks of new threads, of which the first capture copies too little: where native frames are
missing the stack says so once, right there; its root is Python's.  Runs wallspy on itself.

usage: truncated_stacks.py WALLSPY (without it: the target)"""

import sys
import threading
import time

from support.wallspy import record_folded


def deep(levels):
    """Each level has C frames of its own."""
    if levels:
        return max([levels - 1], key=deep)
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        pass
    return 0


def target():
    threading.stack_size(4 << 20)
    debug_build = hasattr(sys, "gettotalrefcount")  # allows fewer levels
    for _ in range(20):
        thread = threading.Thread(target=deep, args=(150 if debug_build else 200,))
        thread.start()
        thread.join()


def main():
    stacks, _ = record_folded(sys.argv[1], ["-q", "-r", "200"], ["--", sys.executable, __file__])
    cut = [stack for stack, _ in stacks if "[native frames missing]" in stack and "deep" in stack]
    print(f"{len(stacks)} stacks, {len(cut)} of them cut")
    assert cut, "no stack was cut"
    for stack in cut:
        assert stack.count("[native frames missing]") == 1, stack
        assert "[truncated]" not in stack, stack
        assert stack[1].endswith("_bootstrap"), stack


if __name__ == "__main__":
    main() if len(sys.argv) > 1 else target()
