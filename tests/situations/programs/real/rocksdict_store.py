"""Stores rows by RocksDB faster than its only thread for compactions can follow."""
import os
import tempfile

from rocksdict import Options, Rdict
from steady import Steady

KEYS = 300000


def small_options():
    options = Options()
    options.create_if_missing(True)
    options.set_write_buffer_size(1 << 20)
    options.set_max_write_buffer_number(2)
    options.set_level_zero_file_num_compaction_trigger(2)
    options.set_level_zero_slowdown_writes_trigger(3)
    options.set_level_zero_stop_writes_trigger(4)
    options.set_max_background_jobs(1)
    return options


def store_rows(rows, first):
    for i in range(500):
        rows[(first * 7919 + i * 104729) % KEYS] = os.urandom(400)


run = Steady()
with tempfile.TemporaryDirectory() as folder:
    rows = Rdict(folder, small_options())
    first = 0
    for first in range(600):  # until it cannot follow
        store_rows(rows, first)
    run.ready()
    while run.goes_on():
        first += 1
        store_rows(rows, first)
    rows.close()
