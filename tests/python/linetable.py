"""Tells a reader of line tables what this interpreter says of its whole standard library.

usage: PYTHON linetable.py READER

READER (linetable_reader.c) gets, for each code object, a record of native-endian numbers on its
stdin and compares the line of each instruction with what it reads from the table.
"""
import dis
import importlib.util
import marshal
import os
import struct
import subprocess
import sys
import sysconfig
import types
import warnings

LNOTAB, LINETABLE_310, LOCATIONS = range(3)
NO_LINE = 0


def ranges(code):
    """(start, end, line) by the interpreter's own account."""
    if hasattr(code, "co_lines"):
        return [(a, b, line or NO_LINE) for a, b, line in code.co_lines()]
    starts = list(dis.findlinestarts(code))
    ends = [a for a, _ in starts[1:]] + [len(code.co_code)]
    return [(a, b, line) for (a, line), b in zip(starts, ends)]


def table_of(code):
    if sys.version_info < (3, 10):
        return LNOTAB, code.co_lnotab
    return (LINETABLE_310 if sys.version_info < (3, 11) else LOCATIONS), code.co_linetable


def record(code):
    kind, table = table_of(code)
    lines = [(offset, line) for a, b, line in ranges(code) for offset in range(a, b, 2)]
    flat = [n for pair in lines for n in pair]
    return (struct.pack("=iiII", kind, code.co_firstlineno, len(table), len(lines)) + table
            + struct.pack("=%di" % len(flat), *flat))


def with_inner(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from with_inner(const)


def load(path):
    """The module's code: as cached on disk (fast), or compiled."""
    try:
        with open(importlib.util.cache_from_source(path), "rb") as f:
            data = f.read()
        if data[:4] == importlib.util.MAGIC_NUMBER:
            return marshal.loads(data[16 if sys.version_info >= (3, 7) else 12:])
    except OSError:
        pass
    with open(path, "rb") as f:
        return compile(f.read(), path, "exec")


def sources():
    for folder, inner, names in os.walk(sysconfig.get_paths()["stdlib"]):
        inner[:] = sorted(set(inner) - {"site-packages", "dist-packages"})
        yield from (os.path.join(folder, n) for n in sorted(names) if n.endswith(".py"))


def main():
    warnings.simplefilter("ignore")
    reader = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE)
    for path in sources():
        try:
            module = load(path)
        except (SyntaxError, ValueError, OSError):  # bad on purpose (test data), a dead link
            continue
        for code in with_inner(module):
            reader.stdin.write(record(code))
    reader.stdin.close()
    return reader.wait()


if __name__ == "__main__":
    sys.exit(main())
