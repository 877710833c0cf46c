"""What a sample costs outside of the sampler, in instructions: unwinding, the Python walk, the merge and
interning of one recorded snapshot, all caches warm.

usage: cost.py PATH_COST VALGRIND REFERENCE VERSION PYTHON

Counted by callgrind, so that a busy machine does not matter, and told in look-ups in a hash map, counted in
the same binary, so that the compiler and its options hardly do.  REFERENCE holds the figure that was
measured last, per frame, from a version of CPython on; the test fails above it by more than 30 %.  Far
below it, write the new one there.
"""
import pathlib
import subprocess
import sys
import tempfile

ALLOWED = 1.3  # clang 14 gives 1.25 of what gcc 12 does, gcc -O3 0.97
program, valgrind, reference, version, python = sys.argv[1:6]
target = str(pathlib.Path(__file__).with_name("target.py"))


def instructions(folder, function, *args):
    """What the program with ARGS printed, and the instructions executed in FUNCTION meanwhile."""
    out = f"{folder}/{function}"
    run = subprocess.run([valgrind, "--tool=callgrind", f"--toggle-collect={function}", f"--callgrind-out-file={out}",
                          f"{folder}/program", *args], check=True, capture_output=True, text=True)
    totals = [line for line in pathlib.Path(out).read_text().splitlines() if line.startswith("totals:")]
    return [int(word) for word in run.stdout.split()], int(totals[0].split()[1])


def number(text):
    return [int(part) for part in text.split(".")[:2]]


def main():
    rows = [line.split() for line in pathlib.Path(reference).read_text().splitlines()]
    wanted = [float(ratio) for since, ratio in rows if number(since) <= number(version)][-1]
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen([python, target], stdout=subprocess.PIPE, text=True) as process:
        try:
            # valgrind 3.19 gives up on clang 14's DWARF.
            subprocess.run(["strip", "-g", "-o", f"{folder}/program", program], check=True)
            assert process.stdout.readline() == "ready\n"
            snapshot = f"{folder}/snapshot"
            subprocess.run([program, "capture", str(process.pid), snapshot], check=True)
            (stacks, native, of_python), cost = instructions(folder, "measured_stack", "stack", str(process.pid), snapshot)
        finally:
            process.kill()
        (lookups,), unit = instructions(folder, "measured_lookup", "lookup")
    a_stack, a_lookup = cost / stacks, unit / lookups
    ratio = a_stack / (native + of_python) / a_lookup
    print(f"a stack of {native} native and {of_python} Python frames: {a_stack:.0f} instructions")
    print(f"a frame: {ratio:.1f} look-ups of {a_lookup:.0f} instructions; {wanted} in the reference")
    return ratio > ALLOWED * wanted or of_python < 20


sys.exit(main())
