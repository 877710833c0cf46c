"""Runs tests by pytest-xdist, in two processes.  The culprit: test_price(), of both."""
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("number", range(2000))
def test_price(number):
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass


def main():
    from steady import Steady

    run = Steady()
    tests = subprocess.Popen([sys.executable, "-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider",
                              __file__], stdout=subprocess.DEVNULL)
    time.sleep(4)
    run.ready(tests.pid)
    while run.goes_on():
        time.sleep(0.1)
    tests.terminate()


if __name__ == "__main__":
    main()
