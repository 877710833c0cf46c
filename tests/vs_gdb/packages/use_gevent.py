"""gevent: greenlets that switch at any depth, its event loop and thread pool."""
import gevent
import gevent.pool
import gevent.socket
import gevent.threadpool
from everywhere import running


def works(depth):
    if depth == 0:
        gevent.sleep(0)
        return sum(range(500))
    return works(depth - 1) + 1


def talks(left, right):
    for i in range(20):
        left.sendall(b"x" * (i + 1))
        right.recv(100)


def sorts():
    return sorted(range(3000), key=lambda v: (v * 7919) % 10007)


POOL = gevent.threadpool.ThreadPool(2)
running()
while True:
    jobs = [gevent.spawn(works, depth) for depth in range(12)]
    jobs += [gevent.spawn(talks, *gevent.socket.socketpair()) for _ in range(3)]
    jobs.append(gevent.spawn(lambda: POOL.apply(sorts)))
    jobs.append(gevent.spawn(sorts))
    gevent.joinall(jobs)
