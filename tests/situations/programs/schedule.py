"""Does something small twenty times a second, and sleeps.  Healthy."""
import time

from steady import Steady

run = Steady()


def check_jobs(jobs):
    return [job for job in jobs if job % 60 == 0]


def main():
    due = 0
    run.ready()
    while run.goes_on():
        due += len(check_jobs(range(1000)))
        time.sleep(0.05)
    run.tell(due_per_s=run.per_second(due))


main()
