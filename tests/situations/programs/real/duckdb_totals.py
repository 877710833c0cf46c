"""Adds up a table by DuckDB, whose threads and main do the work."""
import duckdb
from steady import Steady

base = duckdb.connect()
base.execute("create table sales as select range i, range % 1000 item, random() price "
             "from range(4000000)")


def totals():
    return base.execute("select item, sum(price), median(price), count(distinct i) from sales "
                        "group by item order by 2").fetchall()


run = Steady()
run.ready()
while run.goes_on():
    totals()
