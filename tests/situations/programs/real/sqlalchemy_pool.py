"""Books trips for clients, each in one of eight threads, through SQLAlchemy's pool of three
connections.  The culprit: who has a connection takes another one to note what was booked."""
import asyncio
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool
from steady import Steady

run = Steady()
engine = create_engine("sqlite:///" + os.path.join(tempfile.mkdtemp(), "db"), poolclass=QueuePool,
                       pool_size=3, max_overflow=0, pool_timeout=600)


def note(what):
    with engine.connect() as connection:
        connection.execute(text("select :what"), {"what": what})


def book_trip():
    with Session(engine) as session:
        session.execute(text("select 1"))
        time.sleep(0.02)
        note("trip")


async def main():
    loop = asyncio.get_running_loop()
    clerks = ThreadPoolExecutor(8, "clerk")
    trips = [loop.run_in_executor(clerks, book_trip) for _ in range(8)]
    await asyncio.sleep(1)
    run.ready()
    while run.goes_on():
        await asyncio.sleep(0.1)
    run.tell(booked=sum(trip.done() for trip in trips))
    os._exit(0)


asyncio.run(main())
