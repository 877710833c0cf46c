"""Reads files and compresses them.  Healthy: the files are in the page cache, and compressing is
the work."""
import os
import sys
import tempfile
import zlib

from steady import Steady

run = Steady()


def compress(path):
    with open(path, "rb") as file:
        return len(zlib.compress(file.read(), 6))


def main():
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.urandom(100000) + sys.version.encode() * 5000)
        file.flush()
        total = 0
        run.ready()
        while run.goes_on():
            total += compress(file.name)
        run.tell(bytes_per_s=run.per_second(total))


main()
