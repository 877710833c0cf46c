"""Python caught anywhere: C functions that call back, generators, coroutines, classes, imports,
garbage collection, exceptions, threads that fight for the GIL.  Runs on 3.6 and later."""
import asyncio
import decimal
import functools
import gc
import itertools
import json
import re
import threading
import time


def forever(step):
    for i in itertools.count():
        step(i)


def recurse(n):
    return recurse(n - 1) + 1 if n else sum(x for x in range(30))


def sorts(i):
    return sorted(range(50), key=lambda v: (v * i) % 17)


def numbers(n):
    for i in range(n):
        yield i * i


def delegates(n):
    yield from numbers(n)


def generates(_):
    return list(map(lambda v: functools.reduce(lambda a, b: a + b, delegates(v % 9 + 1)),
                    range(30)))


class Tree:
    def __init__(self, depth):
        self.children = [Tree(depth - 1) for _ in range(2)] if depth else []

    def __len__(self):
        return 1 + sum(len(child) for child in self.children)

    def __getattr__(self, name):
        return recurse(3) if name == "absent" else object.__getattribute__(self, name)

    @property
    def weight(self):
        return len(self) + self.absent


def grows(i):
    tree = Tree(4)
    tree.children.append(tree.children)
    del tree.children[-1]
    if i % 50 == 0:
        gc.collect()
    return tree.weight


def fails(n):
    try:
        if n == 0:
            raise ValueError("bottom")
        fails(n - 1)
    except ValueError:
        if n < 5:
            raise
    finally:
        re.sub(r"(\w+) (\w+)", lambda m: m.group(2) + str(n), "hello world")


def formats(_):
    text = json.dumps({str(k): [decimal.Decimal(k).sqrt().__str__(), {"n": k}] for k in range(20)},
                      indent=1)
    return json.loads(text, object_hook=lambda d: dict(sorted(d.items())))


async def inner(n):
    await asyncio.sleep(0)
    return recurse(n)


async def middle(n):
    return sum([await inner(k) for k in range(n)])


async def coroutines():
    while True:
        await asyncio.gather(*[middle(k) for k in range(6)])


def runs_loop():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(coroutines())


def sleeps(_):
    time.sleep(0.001)


def everything(i):
    recurse(i % 60)
    sorts(i)
    generates(i)
    fails(8)


for target, args in ((forever, (formats,)), (forever, (grows,)), (forever, (sleeps,)),
                     (runs_loop, ())):
    threading.Thread(target=target, args=args, daemon=True).start()
forever(everything)
