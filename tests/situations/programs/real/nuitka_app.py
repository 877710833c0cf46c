"""A program that Nuitka made C of.  The culprit: price()."""
import os
import pathlib
import subprocess
import sys
import tempfile


def price(number):
    total = 0
    for item in range(number):
        total += item * item % 7
    return total


def main():
    from steady import Steady

    run = Steady()
    run.ready()
    while run.goes_on():
        price(300_000)


if "__compiled__" in globals():
    main()
else:
    folder = pathlib.Path(tempfile.gettempdir())
    subprocess.run([sys.executable, "-m", "nuitka", "--quiet", "--follow-import-to=steady",
                    f"--output-dir={folder}", "--unstripped", __file__], check=True)
    os.execv(folder / "nuitka_app.bin", ["nuitka_app.bin", *sys.argv[1:]])
