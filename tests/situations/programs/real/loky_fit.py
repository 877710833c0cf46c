"""Fits by joblib's processes.  The culprit: the first of four fits takes longer than all others,
and one process works alone then.
"""
from joblib import Parallel, delayed
from steady import Steady


def fit(number):
    return sum(item * item % 7 for item in range(number))


def fit_all(pool):
    return pool(delayed(fit)(1_000_000 * (6 if number == 0 else 1)) for number in range(4))


def main():
    run = Steady()
    with Parallel(n_jobs=2) as pool:
        fit_all(pool)
        run.repeat(lambda: fit_all(pool))


if __name__ == "__main__":
    main()
