"""numba: compiled functions that call each other, run in parallel, and call Python back."""
import numba
import numpy as np
from everywhere import forever


@numba.njit
def inner(values, n):
    total = 0.0
    for i in range(n):
        total += values[i % len(values)] ** 1.5
    return total


@numba.njit(nogil=True)
def outer(values):
    return inner(values, 20000) + inner(values, 30000)


@numba.njit(parallel=True)
def shared(values):
    total = 0.0
    for i in numba.prange(len(values)):
        total += np.sin(values[i])
    return total


@numba.njit
def calls_back(values):
    with numba.objmode(total="float64"):
        total = python_sum(values)
    return total + inner(values, 100)


def python_sum(values):
    return float(sum(sorted(values[:200], key=lambda v: -v)))


VALUES = np.arange(5000.0)
for function in (outer, shared, calls_back):
    function(VALUES)
forever(lambda: outer(VALUES), lambda: calls_back(VALUES))
