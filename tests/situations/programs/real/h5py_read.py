"""Four threads read the slabs of a compressed HDF5 file by h5py, which lets one of them at a time
into HDF5."""
import tempfile
import threading

import h5py
import numpy
from steady import Steady

SLABS, ROWS = 4, 64


def write_slabs(path):
    random = numpy.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for i in range(SLABS):
            file.create_dataset(f"slab{i}", data=random.integers(0, 50, (ROWS, 128, 128)),
                                chunks=(4, 128, 128), compression="gzip")


def read_slab(run, slab):
    while run.goes_on():
        for row in range(0, ROWS, 4):
            slab[row:row + 4]


run = Steady()
with tempfile.NamedTemporaryFile() as named:
    write_slabs(named.name)
    slabs = h5py.File(named.name, "r")
    run.ready()
    threads = [threading.Thread(target=read_slab, args=(run, slabs[f"slab{i}"]), name=f"slab-{i}")
               for i in range(SLABS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
