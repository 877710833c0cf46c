"""Asks celery's workers for prices, through redis.  The culprit: price() computes in one worker's
process, and the program waits for it.
"""
import pathlib
import subprocess
import sys
import time

from celery import Celery

PORT = 8732
SERVER = f"redis://127.0.0.1:{PORT}"
app = Celery("celery_shop", broker=f"{SERVER}/0", backend=f"{SERVER}/1")


@app.task
def price(number):
    return sum(item * item % 7 for item in range(number))


def ask():
    return [result.get() for result in [price.delay(1_500_000) for _ in range(4)]]


def main():
    from steady import Steady

    run = Steady()
    tools = pathlib.Path(sys.executable).parent
    subprocess.Popen([tools / "redis-server", "--port", str(PORT), "--save", ""],
                     stdout=subprocess.DEVNULL)
    time.sleep(1)
    subprocess.Popen([tools / "celery", "-A", "celery_shop", "worker", "-c", "2", "-l", "ERROR"],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     cwd=pathlib.Path(__file__).parent)
    ask()
    run.repeat(ask)


if __name__ == "__main__":
    main()
