"""A program that PyInstaller froze: its files are no files, and it has a parent of its own.  The
culprit: price().
"""
import os
import pathlib
import subprocess
import sys
import tempfile


def price(number):
    return sum(item * item % 7 for item in range(number))


def main():
    from steady import Steady

    run = Steady()
    run.ready()
    while run.goes_on():
        price(300_000)


if getattr(sys, "frozen", False):
    main()
else:
    folder = pathlib.Path(tempfile.mkdtemp())
    subprocess.run([sys.executable, "-m", "PyInstaller", "--onefile", "--log-level", "ERROR",
                    "--distpath", folder, "--workpath", folder / "work", "--specpath", folder,
                    __file__],
                   check=True, stdout=subprocess.DEVNULL)
    os.execv(folder / "pyinstaller_app", ["pyinstaller_app", *sys.argv[1:]])
