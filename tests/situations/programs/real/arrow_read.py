"""Reads a file of Parquet's by arrow, and makes a DataFrame of it."""
import pathlib
import tempfile

import numpy
import pyarrow
import pyarrow.parquet
from steady import Steady

path = pathlib.Path(tempfile.gettempdir()) / "sales.parquet"
pyarrow.parquet.write_table(
    pyarrow.table({"price": numpy.random.rand(1_000_000),
                   "name": [str(number) for number in range(1_000_000)]}), path, compression="zstd")


def load():
    return pyarrow.parquet.read_table(path).to_pandas()


run = Steady()
run.ready()
while run.goes_on():
    load()
