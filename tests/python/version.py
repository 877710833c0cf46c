"""A program that is launched, and just starts, is called by its whole version all the same.

usage: version.py WALLSPY"""

import json
import os
import subprocess
import sys
import tempfile


def main():
    wanted = "%d.%d.%d" % sys.version_info[:3]
    for _ in range(5):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "o.json")
            subprocess.run([sys.argv[1], "-q", "-o", output, "--", sys.executable, "-c",
                            "import time; time.sleep(0.4)"], check=True)
            with open(output) as file:
                got = json.load(file)["wallspy"]["processes"][0]["python"]
        assert got.startswith(wanted), (got, wanted)


if __name__ == "__main__":
    main()
