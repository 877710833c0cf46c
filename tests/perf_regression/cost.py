"""What a sample costs outside of the sampler, in instructions: unwinding, the Python walk, the
merge and interning of one recorded snapshot, all caches warm.

usage: cost.py PATH_COST VALGRIND REFERENCE VERSION PYTHON

Counted by callgrind, so that a busy machine does not matter, and told in look-ups in a hash map,
counted in the same binary, so that the compiler and its options hardly do.  REFERENCE holds the
figures that were measured last, per frame, from a version of CPython on: of a stack that is walked
whole, and of one whose outer part is the last one's.  The test fails above them by more than 30 %.
Far below, write the new ones there.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from support.targets import Target

# Of "rep movsb", which large copies use now and then, callgrind counts each byte.  meson has malloc
# fill what it gives and takes.
ENVIRONMENT = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=1000000000",
               "MALLOC_PERTURB_": "0"}
ALLOWED = 1.3  # clang 14 gives 1.25 of what gcc 12 does, gcc -O3 0.97
program, valgrind, reference, version, python = sys.argv[1:6]
target = str(pathlib.Path(__file__).with_name("target.py"))


def instructions(folder, function, *args):
    """What the program with ARGS printed, and the instructions executed in FUNCTION meanwhile."""
    out = f"{folder}/{function}"
    run = subprocess.run([valgrind,
                          "--tool=callgrind", f"--toggle-collect={function}",
                          f"--callgrind-out-file={out}",
                          f"{folder}/program", *args], check=True, capture_output=True, text=True,
                         env=ENVIRONMENT)
    totals = [line for line in pathlib.Path(out).read_text().splitlines()
              if line.startswith("totals:")]
    return [int(word) for word in run.stdout.split()], int(totals[0].split()[1])


def number(text):
    return [int(part) for part in text.split(".")[:2]]


def too_much(printed, cost, a_lookup, wanted):
    stacks, native, of_python = printed
    a_stack = cost / stacks
    ratio = a_stack / (native + of_python) / a_lookup
    print(f"a stack of {native} native and {of_python} Python frames: {a_stack:.0f} instructions")
    print(
        f"a frame: {ratio:.1f} look-ups of {a_lookup:.0f} instructions; {wanted} in the reference")
    return ratio > ALLOWED * wanted or of_python < 20


def main():
    rows = [line.split() for line in pathlib.Path(reference).read_text().splitlines()]
    wanted = [map(float, ratios) for since, *ratios in rows if number(since) <= number(version)][-1]
    with tempfile.TemporaryDirectory() as folder, Target([python, target], "ready") as process:
        # valgrind 3.19 gives up on clang 14's DWARF.
        subprocess.run(["strip", "-g", "-o", f"{folder}/program", program], check=True)
        snapshot = f"{folder}/snapshot"
        subprocess.run([program, "capture", str(process.pid), snapshot], check=True)
        counts = [instructions(folder, "measured_stack", how, str(process.pid), snapshot)
                  for how in ("stack", "again")]
        (lookups,), unit = instructions(folder, "measured_lookup", "lookup")
    return any([too_much(*count, unit / lookups, most) for count, most in zip(counts, wanted)])


sys.exit(main())
