"""Names are looked up by asyncio's default executor, whose threads all do something else."""
import asyncio
import time

from account import Account

account = Account()


def export_table():
    time.sleep(0.3)


async def export(loop):
    while account.goes_on():
        await loop.run_in_executor(None, export_table)


async def look_up(loop):
    with account.at("look_up"):
        await loop.getaddrinfo("127.0.0.1", 80)


async def main():
    loop = asyncio.get_running_loop()
    exports = [asyncio.create_task(export(loop), name=f"export-{i}") for i in range(40)]
    account.ready()
    while account.goes_on():
        await look_up(loop)
        await asyncio.sleep(0.01)
    await asyncio.gather(*exports)


asyncio.run(main())
account.tell()
