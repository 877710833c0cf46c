"""Scores rows of a table in a pool of two processes.  The culprit: each task takes its rows along,
which costs more than their score; in the twin a task takes two numbers, and the processes have the
table from the start.
"""
import multiprocessing
import time

from steady import Steady

run = Steady()
run.has_rounds = False
ROWS, TASKS = 40000, 8
table = [[row, row * 7 % 1000, str(row)] for row in range(ROWS)]


def score(rows):
    return sum(row[1] for row in rows[:1000])


def score_range(first, last):
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        score(table[first:last])


def score_all(pool):
    step = ROWS // TASKS
    firsts = range(0, ROWS, step)
    if run.twin:
        pool.starmap(score_range, [(first, first + step) for first in firsts])
    else:
        pool.map(score, [table[first:first + step] for first in firsts])


def main():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        run.ready()
        while run.goes_on():
            score_all(pool)


main()
