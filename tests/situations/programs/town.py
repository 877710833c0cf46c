"""Counts a town's people in many ways.  The culprit: each of twelve functions writes its rows as
JSON; the twin has one that does so.  Tells the share of the time outside of add_up()."""
import json
import time

from steady import Steady

run = Steady()
ROWS = [{"house": i, "people": i % 7, "name": f"lane {i}"} for i in range(150)]
added_s = 0.0


def add_up(rows):
    global added_s
    begun = time.perf_counter()
    total = sum(row["people"] * len(row["name"]) for row in rows)
    added_s += time.perf_counter() - begun
    return total


def by_age(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_street(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_trade(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_school(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_income(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_rooms(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_floors(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_wells(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_dogs(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_bread(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_salt(rows):
    return add_up(rows) + len(json.dumps(rows))


def by_coal(rows):
    return add_up(rows) + len(json.dumps(rows))


def main():
    ways = [by_age, by_street, by_trade, by_school, by_income, by_rooms,
            by_floors, by_wells, by_dogs, by_bread, by_salt, by_coal]
    run.ready()
    while run.goes_on():
        for way in ways[:1] * len(ways) if run.twin else ways:
            way(ROWS)
    run.tell(dumps=1 - run.per_second(added_s))


main()
