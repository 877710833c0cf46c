# cython: language_level=3
cdef class Shape:
    cdef int side

    def __init__(self, side):
        self.side = side

    @property
    def area(self):
        return sum([self._row(i) for i in range(self.side)])

    cdef int _row(self, int i):
        return i * self.side


cdef int call(function, int value) except -1:
    return function(value)


def apply(function, int n):
    cdef int i, total = 0
    for i in range(n):
        total += call(function, i)
    return total


def numbers(int n):
    cdef int i
    for i in range(n):
        yield Shape(i % 7).area


def fails(int depth, kind):
    if depth == 0:
        raise kind("here")
    try:
        return fails(depth - 1, kind)
    finally:
        apply(abs, 3)


def spins(long n):
    cdef double x = 1
    cdef long i
    with nogil:
        for i in range(n):
            x = x * 1.0000001 + 1
    return x
