"""More tasks than the connector has connections."""
import asyncio

from account import Account

account = Account()
TASKS, CONNECTIONS = 200, 10
waited = 0.0


class Connector:
    def __init__(self, limit):
        self.free = asyncio.Semaphore(limit)

    async def connect(self):
        global waited
        begin = asyncio.get_running_loop().time()
        await self.free.acquire()
        waited += asyncio.get_running_loop().time() - begin


async def fetch(connector):
    await connector.connect()
    await asyncio.sleep(0.05)  # the service thinks
    connector.free.release()


async def ask(connector):
    while account.goes_on():
        await fetch(connector)


async def main():
    connector = Connector(CONNECTIONS)
    account.ready()
    await asyncio.gather(*(asyncio.create_task(ask(connector)) for _ in range(TASKS)))


asyncio.run(main())
account.tell(connect=waited / TASKS)
