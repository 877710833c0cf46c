"""Steps through arithmetic on large vectors, as with numpy: a Python loop around a library in C.
Healthy.

usage: vectors.py SECONDS LIBVECTOR
"""
import ctypes
import sys

from steady import Steady

SIZE = 200000
run = Steady()
library = ctypes.CDLL(sys.argv[-1])
library.vector_add_scaled.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double,
                                      ctypes.c_size_t]


def step(position, speed):
    library.vector_add_scaled(position, speed, 0.1, SIZE)
    library.vector_add_scaled(speed, position, -0.1, SIZE)


def main():
    position, speed = ((ctypes.c_double * SIZE)(*[1.0] * SIZE) for _ in range(2))
    steps = 0
    run.ready()
    while run.goes_on():
        step(position, speed)
        steps += 1
    run.tell(steps_per_s=run.per_second(steps))


main()
