"""uvloop: asyncio on libuv by Cython: callbacks, streams, an executor."""
import asyncio

import uvloop
from everywhere import running


async def handles(reader, writer):
    while True:
        writer.write(await reader.readexactly(100))


async def talks(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        writer.write(100 * b"x")
        await reader.readexactly(100)
        await asyncio.sleep(0)


def sorts():
    return sorted(range(3000), key=lambda v: (v * 7919) % 10007)


async def computes():
    while True:
        await asyncio.get_running_loop().run_in_executor(None, sorts)
        asyncio.get_running_loop().call_later(0.001, sum, range(1000))


async def main():
    server = await asyncio.start_server(handles, "127.0.0.1", 0)
    running()
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(talks(port) for _ in range(3)), computes(), computes())


uvloop.install()
asyncio.run(main())
