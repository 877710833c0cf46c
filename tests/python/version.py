"""A program that is launched, and just starts, is called by its whole version all the same.

usage: version.py WALLSPY"""

import sys

from support.wallspy import record


def main():
    wanted = "%d.%d.%d" % sys.version_info[:3]
    for _ in range(5):
        run = record(sys.argv[1], ["-q"], [sys.executable, "-c", "import time; time.sleep(0.4)"])
        got = run.recording.facts["processes"][0]["python"]
        assert got.startswith(wanted), (got, wanted)


if __name__ == "__main__":
    main()
