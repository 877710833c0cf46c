"""uWSGI with two processes.  The culprit: price(), which computes in one of them."""
import pathlib
import subprocess
import sys
import time
import urllib.request

PORT = 8734


def price(number):
    return sum(item * item % 7 for item in range(number))


def application(environment, start):
    price(2_000_000)
    start("200 OK", [])
    return [b"done"]


def main():
    from steady import Steady

    run = Steady()
    server = subprocess.Popen([pathlib.Path(sys.executable).parent / "uwsgi", "--master", "-p", "2",
                               "--http-socket", f"127.0.0.1:{PORT}", "--wsgi-file", __file__,
                               "--disable-logging"], stderr=subprocess.DEVNULL)
    time.sleep(2)
    run.ready(server.pid)
    while run.goes_on():
        urllib.request.urlopen(f"http://127.0.0.1:{PORT}/").read()


if __name__ == "__main__":
    main()
