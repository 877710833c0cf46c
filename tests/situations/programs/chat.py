"""An asyncio server whose one client says something four times a second.  Healthy."""
import asyncio

from steady import Steady

run = Steady()


async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    lines = 0
    run.ready()
    while run.goes_on():
        writer.write(b"hello\n")
        lines += len(await reader.readline())
        await asyncio.sleep(0.25)
    writer.close()
    await asyncio.sleep(0.05)
    run.tell(bytes_per_s=run.per_second(lines))


asyncio.run(main())
