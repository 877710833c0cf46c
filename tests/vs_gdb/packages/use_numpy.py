"""numpy: BLAS, sorting, ufuncs, and all ways back into Python."""
import numpy as np
from everywhere import forever

RANDOM = np.random.default_rng(1)
MATRIX = RANDOM.random((200, 200))


def multiplies():
    return np.linalg.inv(MATRIX @ MATRIX + np.eye(200)) @ MATRIX


def sorts():
    return np.argsort(RANDOM.random(20000)), np.unique(RANDOM.integers(0, 500, 20000))


@np.vectorize
def one_at_a_time(x):
    return x * x + 1


def calls_back():
    rows = np.apply_along_axis(lambda row: row.sum() + one_at_a_time(row[:3]).max(), 1, MATRIX[:20])
    table = np.frompyfunc(lambda a, b: a + b, 2, 1)
    return table.reduce(np.arange(30, dtype=object)), rows, np.fromiter((i * i for i in range(200)),
                                                                        float)


class Loud(np.ndarray):
    def __array_finalize__(self, other):
        sum(range(10))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return getattr(ufunc, method)(*(np.asarray(x) for x in inputs), **options)


def subclasses():
    loud = np.arange(50.0).view(Loud)
    return (loud[:20] + loud[20:40]).sum(), np.einsum("ij,jk,kl", MATRIX, MATRIX, MATRIX)


forever(multiplies, sorts, calls_back, subclasses)
