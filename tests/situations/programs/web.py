"""An asyncio server with a client.  The culprit: once a second build_report() computes for 0.3 s in
the event loop; the twin has the same computed by a child process.
"""
import asyncio
import sys
import time

from steady import Steady

run = Steady()
REPORT = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
longest_s = 0.0


def build_report():
    rows = 0
    end = time.process_time() + 0.3
    while time.process_time() < end:
        rows += sum(range(100))
    return rows


async def report():
    global longest_s
    while run.goes_on():
        await asyncio.sleep(0.7)
        if run.twin:
            child = await asyncio.create_subprocess_exec(sys.executable, "-c", REPORT)
            await child.wait()
        else:
            start = time.monotonic()
            build_report()
            longest_s = max(longest_s, time.monotonic() - start)


async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while run.goes_on():
        writer.write(b"hello\n")
        await reader.readline()
        await asyncio.sleep(0.01)
    writer.close()


async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    run.ready()
    await asyncio.gather(report(), ask(port))
    run.tell(longest_s=longest_s)


asyncio.run(main())
