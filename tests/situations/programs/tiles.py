"""Renders the tiles of a map in a pool of four processes.  The culprit: map() hands them out in
pieces of four, and the four tiles of the town, which take long, are one piece; in the twin each
tile is a piece of its own.
"""
import multiprocessing
import time

from steady import Steady

run = Steady()
TILES, TOWN = 64, 4


def render_tile(tile):
    start = time.monotonic()
    ink = tile
    for dot in range(400000 if tile < TOWN else 2000):
        ink = (ink * 31 + dot) % 65521
    return start, time.monotonic()


def alone_s(times):
    """How long just one of TIMES, each a begin and an end, goes on."""
    changes = sorted([(start, 1) for start, _ in times] + [(end, -1) for _, end in times])
    alone = at_work = 0
    for (begin, by), (end, _) in zip(changes, changes[1:]):
        at_work += by
        alone += (end - begin) * (at_work == 1)
    return alone


def render_map(pool):
    return pool.map(render_tile, range(TILES), chunksize=1 if run.twin else None)


def main():
    waited = alone = 0
    with multiprocessing.get_context("fork").Pool(4) as pool:
        run.ready()
        while run.goes_on():
            start = time.monotonic()
            alone += alone_s(render_map(pool))
            waited += time.monotonic() - start
    run.tell(share=run.per_second(waited), alone_share=alone / waited)


main()
