"""Smooths a picture by OpenCV, whose pool of threads does the work."""
import cv2
import numpy
from steady import Steady

picture = numpy.random.randint(0, 255, (1500, 2000, 3), numpy.uint8)


def smooth():
    return cv2.bilateralFilter(picture, 9, 75, 75)


run = Steady()
run.ready()
while run.goes_on():
    smooth()
