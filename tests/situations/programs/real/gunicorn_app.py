"""Gunicorn with two workers of gevent's.  The culprit: price() computes in a worker's hub, and its
other requests wait meanwhile.
"""
import pathlib
import subprocess
import sys
import threading
import time
import urllib.request

PORT = 8731


def price(number):
    return sum(item * item % 7 for item in range(number))


def app(environment, start):
    if environment["PATH_INFO"] == "/price":
        price(2_000_000)
    start("200 OK", [])
    return [b"done"]


def ask(run, path):
    while run.goes_on():
        urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}").read()
        time.sleep(0.1)


def main():
    from steady import Steady

    run = Steady()
    server = subprocess.Popen([sys.executable, "-m", "gunicorn", "-k", "gevent", "-w", "2",
                               "-b", f"127.0.0.1:{PORT}", "--log-level", "error",
                               "gunicorn_app:app"], cwd=pathlib.Path(__file__).parent)
    time.sleep(2)
    run.ready(server.pid)
    threads = [threading.Thread(target=ask, args=(run, path)) for path in ("/", "/price")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.terminate()


if __name__ == "__main__":
    main()
