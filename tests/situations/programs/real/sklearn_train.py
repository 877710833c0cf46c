"""Trains a model of scikit-learn's, by OpenMP's threads of its own library."""
import numpy
from sklearn.ensemble import HistGradientBoostingClassifier
from steady import Steady

samples = numpy.random.rand(100000, 20)
classes = (samples[:, 0] > .5).astype(int)


def train():
    HistGradientBoostingClassifier(max_iter=20).fit(samples, classes)


run = Steady()
train()
run.ready()
while run.goes_on():
    train()
