"""An asyncio server on uvloop.  The culprit: build_report() computes in the loop."""
import asyncio
import time

import uvloop
from steady import Steady

run = Steady()
longest_s = 0.0


def build_report():
    global longest_s
    start = time.monotonic()
    rows = sum(item * item % 7 for item in range(3_000_000))
    longest_s = max(longest_s, time.monotonic() - start)
    return rows


async def answer(reader, writer):
    while await reader.readline():
        build_report()
        writer.write(b"done\n")
    writer.close()


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    run.ready()
    while run.goes_on():
        writer.write(b"report\n")
        await reader.readline()
        await asyncio.sleep(0.3)
    writer.close()
    run.tell(longest_s=longest_s)


uvloop.install()
asyncio.run(main())
