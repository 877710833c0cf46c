"""Adds up a table by polars, whose pool of threads does the work."""
import numpy
import polars
from steady import Steady

table = polars.DataFrame({"key": numpy.random.randint(0, 100000, 3_000_000),
                          "value": numpy.random.rand(3_000_000)})


def totals():
    value = polars.col("value")
    return table.group_by("key").agg(value.median(), value.n_unique().alias("number")).sort("key")


run = Steady()
totals()
run.ready()
while run.goes_on():
    totals()
