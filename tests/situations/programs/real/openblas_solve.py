"""Multiplies by the OpenBLAS that numpy brings, with its threads."""
import numpy
from steady import Steady

matrix = numpy.random.rand(800, 800)


def multiply():
    return matrix @ matrix


run = Steady()
multiply()
run.ready()
while run.goes_on():
    multiply()
