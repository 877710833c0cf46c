"""A service on asyncio listens to a feed.  The culprit: the feed has ended and its handler takes no
notice, so that the loop calls it again and again; the twin's handler takes the feed out of the
loop."""
import asyncio
import socket
import time

from steady import Steady

run = Steady()
calls = 0


def on_line(feed):
    global calls
    calls += 1
    text = feed.recv(4096, socket.MSG_PEEK)
    if len(text) >= 16:
        feed.recv(16)
    elif run.twin:
        asyncio.get_running_loop().remove_reader(feed)


async def main():
    feed, other = socket.socketpair()
    asyncio.get_running_loop().add_reader(feed, on_line, feed)
    other.send(b"1234")
    other.close()
    run.ready()
    cpu_s = time.process_time()
    while run.goes_on():
        await asyncio.sleep(0.2)
    run.tell(calls_per_s=run.per_second(calls), cpus=run.per_second(time.process_time() - cpu_s))


asyncio.run(main())
