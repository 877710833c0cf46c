"""How a test ends: passed, failed, skipped with a reason."""
import os
import shutil
import sys
import tempfile

from .chance import SEED
from .programs import IS_ROOT, programs

EXIT_SKIPPED = 77


class Skipped(Exception):
    """What is tried cannot be brought about here; the reason."""


def skip_part(part, reason):
    """Says that PART, a word, of a test is left out; tools/test-summary lists it."""
    print(f"# SKIP {part}: {reason}", flush=True)


def end_with(test, *args):
    """Ends the program as TEST(*ARGS) ends: by 0, by 1 if it returns anything false but None, by 77
    if it raises Skipped."""
    try:
        good = test(*args)
    except Skipped as reason:
        print(f"skipped: {reason}")
        sys.exit(EXIT_SKIPPED)
    sys.exit(0 if good is None or good else 1)


def copied(path, folder):
    """A copy of the program, or of the programs in a folder."""
    if not os.path.isdir(path):
        return shutil.copy(path, folder)
    inner = os.path.join(folder, os.path.basename(path))
    os.mkdir(inner, 0o755)
    for name in os.listdir(path):
        program = os.path.join(path, name)
        if os.path.isfile(program) and os.access(program, os.X_OK):
            shutil.copy(program, inner)
    return inner


def main(doc, *names):
    """Runs the unittest classes of the calling script.  Its arguments are the programs NAMES, and
    unittest's own.  The script counts as skipped if all of its tests are."""
    import unittest  # pylint: disable=import-outside-toplevel

    class Result(unittest.TextTestResult):
        passed = 0

        def addSuccess(self, test):
            super().addSuccess(test)
            self.passed += 1

    class Runner(unittest.TextTestRunner):
        resultclass = Result

    if len(sys.argv) <= len(names):
        words = " ".join(map(str.upper, names))
        sys.exit(f"{doc}\nusage: {sys.argv[0]} {words} [unittest's arguments]")
    print(f"WALLSPY_SEED={SEED}", flush=True)
    given = [os.path.abspath(path) for path in sys.argv[1:1 + len(names)]]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if IS_ROOT:  # so that every user may run them
            given = [copied(path, folder) for path in given]
        programs.update(zip(names, given))
        result = unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[1 + len(names):]],
                               verbosity=2, testRunner=Runner, exit=False).result
    if result.wasSuccessful() and result.skipped and not result.passed:
        print(f"skipped: {result.skipped[0][1]}")
        sys.exit(EXIT_SKIPPED)
    sys.exit(0 if result.wasSuccessful() and result.passed else 1)
