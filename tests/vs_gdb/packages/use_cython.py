"""A Cython module: cdef functions and classes, generators, nogil loops, exceptions, callbacks."""
import cythonized
from everywhere import forever


def calls_back():
    return cythonized.apply(lambda v: sum(range(v % 30)), 200)


def raises():
    try:
        cythonized.fails(12, ValueError)
    except ValueError:
        return cythonized.Shape(3).area


forever(calls_back, raises, lambda: list(cythonized.numbers(300)), lambda: cythonized.spins(100000))
