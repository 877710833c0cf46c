"""Slow code of Python's library and of packages, one kind a run; the twin does the same by the way
out that wallspy tells.

usage: slow.py SECONDS [--twin] KIND
"""
import gc
import sys

import slow_again
import slow_fallbacks
import slow_packages
from steady import Steady

# Each kind is a function that returns a round of the slow work, and one of the quick work.


def copies():
    import copy

    order = {"items": [{"name": str(n), "price": n} for n in range(200)], "paid": False}

    def slow():
        copy.deepcopy(order)["paid"] = True

    def quick():
        {**order}["paid"] = True

    return slow, quick


def callers():
    import inspect

    def slow():
        return inspect.stack()[1].function

    def quick():
        return sys._getframe(1).f_code.co_name

    return slow, quick


def encodes():
    import io
    import json

    rows = [{"name": str(n), "price": n} for n in range(2000)]

    def slow():
        json.dump(rows, io.StringIO())

    def quick():
        io.StringIO().write(json.dumps(rows))

    return slow, quick


def rows():
    import pandas

    table = pandas.DataFrame({"price": range(500), "number": range(500)})

    def slow():
        return sum(row["price"] * row["number"] for _, row in table.iterrows())

    def quick():
        return (table["price"] * table["number"]).sum()

    return slow, quick


def protocols():
    import typing

    @typing.runtime_checkable
    class Shape(typing.Protocol):
        def area(self): ...

        def name(self): ...

    class Base:
        pass

    class Square(Base):
        def area(self):
            return 4

        def name(self):
            return "square"

    shapes = [Square() for _ in range(500)]

    def slow():
        return sum(isinstance(shape, Shape) for shape in shapes)

    def quick():
        return sum(isinstance(shape, Base) for shape in shapes)

    return slow, quick


def applies():
    import pandas

    table = pandas.DataFrame({"price": range(2000), "number": range(2000)})

    def slow():
        return table.apply(lambda row: row["price"] * row["number"], axis=1).sum()

    def quick():
        return (table["price"] * table["number"]).sum()

    return slow, quick


def settings():
    import yaml

    text = "\n".join(f"name{n}: {{port: {n}, host: localhost}}" for n in range(200))

    def slow():
        return yaml.load(text, Loader=yaml.SafeLoader)

    def quick():
        return yaml.load(text, Loader=yaml.CSafeLoader)

    return slow, quick


def dates():
    import datetime

    days = [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]

    def slow():
        return [datetime.datetime.strptime(day, "%Y-%m-%d") for day in days]

    def quick():
        return [datetime.datetime.fromisoformat(day) for day in days]

    return slow, quick


def guesses():
    import datetime

    import dateutil.parser

    days = [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]

    def slow():
        return [dateutil.parser.parse(day) for day in days]

    def quick():
        return [datetime.datetime.fromisoformat(day) for day in days]

    return slow, quick


def plugins():
    import importlib.metadata

    def slow():
        return importlib.metadata.entry_points(group="console_scripts")

    kept = slow()

    def quick():
        return kept

    return slow, quick


def pickles():
    import io
    import pickle

    rows = [{"name": str(n), "price": n} for n in range(500)]

    def slow():
        pickle._Pickler(io.BytesIO()).dump(rows)

    def quick():
        pickle.Pickler(io.BytesIO()).dump(rows)

    return slow, quick


def unpickles():
    import io
    import pickle

    data = pickle.dumps([{"name": str(n), "price": n} for n in range(500)])

    def slow():
        pickle._Unpickler(io.BytesIO(data)).load()

    def quick():
        pickle.Unpickler(io.BytesIO(data)).load()

    return slow, quick


def means():
    import statistics

    prices = [number / 7 for number in range(5000)]

    def slow():
        return statistics.mean(prices)

    def quick():
        return statistics.fmean(prices)

    return slow, quick


def literals():
    import ast
    import json

    text = str([[number, number + 1] for number in range(500)])

    def slow():
        return ast.literal_eval(text)

    def quick():
        return json.loads(text)

    return slow, quick


def schemas():
    import jsonschema

    schema = {"type": "object", "properties": {f"field{n}": {"type": "string", "maxLength": 9}
                                               for n in range(20)}}
    message = {f"field{n}": "text" for n in range(20)}
    validator = jsonschema.Draft202012Validator(schema)

    def slow():
        jsonschema.validate(message, schema, jsonschema.Draft202012Validator)

    def quick():
        validator.validate(message)

    return slow, quick


def arrays():
    import numpy

    def slow():
        prices = numpy.array([])
        for number in range(5000):
            prices = numpy.append(prices, number)
        return prices

    def quick():
        return numpy.array([float(number) for number in range(5000)])

    return slow, quick


def vectors():
    import numpy

    prices = numpy.arange(2000.0)
    taxed = numpy.vectorize(lambda price: price * 1.19 if price > 100 else price)

    def slow():
        return taxed(prices)

    def quick():
        return numpy.where(prices > 100, prices * 1.19, prices)

    return slow, quick


def signatures():
    import inspect

    def order(item, number: int = 1, *, paid: bool = False) -> None:
        del item, number, paid

    kept = inspect.signature(order)

    def slow():
        return inspect.signature(order).parameters

    def quick():
        return kept.parameters

    return slow, quick


def hints():
    import typing

    def order(item: "str", number: "list[int]" = (), *, paid: "bool" = False) -> "None":
        del item, number, paid

    kept = typing.get_type_hints(order)

    def slow():
        return typing.get_type_hints(order)

    def quick():
        return kept

    return slow, quick


def fields():
    import dataclasses

    @dataclasses.dataclass
    class Order:
        items: list
        paid: bool

    order = Order([{"name": str(n), "price": n} for n in range(200)], False)

    def slow():
        return dataclasses.asdict(order)

    def quick():
        return vars(order)

    return slow, quick


def contexts():
    import ssl

    def slow():
        return ssl.create_default_context()

    kept = slow()

    def quick():
        return kept

    return slow, quick


def loops():
    import asyncio

    async def ask():
        return 1

    runner = asyncio.Runner()

    def slow():
        return asyncio.run(ask())

    def quick():
        return runner.run(ask())

    return slow, quick


def futures():
    import time
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed, wait

    pool = ThreadPoolExecutor(2)

    def slow():
        todo = {pool.submit(time.sleep, 0.0005) for _ in range(1000)}
        while todo:
            _, todo = wait(todo, return_when=FIRST_COMPLETED)

    def quick():
        for done in as_completed([pool.submit(time.sleep, 0.0005) for _ in range(1000)]):
            done.result()

    return slow, quick


def documents():
    import xml.dom.minidom
    import xml.etree.ElementTree

    text = f"<orders>{'<item>x</item>' * 50}</orders>"

    def slow():
        xml.dom.minidom.parseString(text).unlink()

    def quick():
        return xml.etree.ElementTree.fromstring(text)

    return slow, quick


def models():
    import pydantic

    class Order(pydantic.BaseModel):
        name: str
        number: int

    kept = pydantic.TypeAdapter(list[Order])

    def slow():
        return pydantic.TypeAdapter(list[Order]).validate_python([{"name": "x", "number": 1}])

    def quick():
        return kept.validate_python([{"name": "x", "number": 1}])

    return slow, quick


def pages():
    import bs4

    text = f"<html><body>{'<p class=x>text <b>bold</b></p>' * 300}</body></html>"

    def slow():
        return bs4.BeautifulSoup(text, "html.parser").find_all("b")

    def quick():
        return bs4.BeautifulSoup(text, "lxml").find_all("b")

    return slow, quick


def templates():
    import jinja2

    environment = jinja2.Environment()
    text = "{% for item in items %}{{ item.name }}: {{ item.price }}\n{% endfor %}"
    kept = environment.from_string(text)
    items = [{"name": "x", "price": 1}]

    def slow():
        return environment.from_string(text).render(items=items)

    def quick():
        return kept.render(items=items)

    return slow, quick


def clients():
    import boto3

    session = boto3.Session("key", "secret", region_name="eu-west-1")

    kept = session.client("s3")

    def slow():
        return session.client("s3").meta.region_name

    def quick():
        return kept.meta.region_name

    return slow, quick


def decimals():
    import _pydecimal
    import decimal

    def slow():
        return sum((_pydecimal.Decimal(number) / 7 for number in range(1, 200)),
                   _pydecimal.Decimal())

    def quick():
        return sum((decimal.Decimal(number) / 7 for number in range(1, 200)), decimal.Decimal())

    return slow, quick


def forks():
    import subprocess

    page = bytearray(400 << 20)  # that the child's tables must map, too
    page[::4096] = bytes(len(page[::4096]))

    def slow():
        subprocess.Popen(["true"], preexec_fn=int).wait()

    def quick():
        subprocess.Popen(["true"]).wait()

    return slow, quick


def numba_functions():
    import numba

    def price(number):
        total = 0.0
        for one in range(number):
            total += one * 1.19
        return total

    kept = numba.njit(price)
    kept(3)

    def slow():
        return numba.njit(price)(3)

    def quick():
        return kept(3)

    return slow, quick


def jax_shapes():
    import jax
    import jax.numpy

    @jax.jit
    def step(rows):
        return jax.numpy.tanh(rows @ rows.T).sum()

    lengths = iter(range(10, 100000))
    batch = jax.numpy.ones((1000, 800))
    step(batch)

    def slow():
        return step(jax.numpy.ones((next(lengths), 8))).block_until_ready()

    def quick():
        return step(batch).block_until_ready()

    return slow, quick


def triton_kernels():
    """A cache of its own each time, as after a new start of a container, or the one that is kept.
    No GPU is needed to compile for one."""
    import tempfile

    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit
    def add(left, right, out, n, width: tl.constexpr):
        at = tl.program_id(0) * width + tl.arange(0, width)
        inside = at < n
        total = tl.load(left + at, mask=inside) + tl.load(right + at, mask=inside)
        tl.store(out + at, total, mask=inside)

    kinds = {"left": "*fp32", "right": "*fp32", "out": "*fp32", "n": "i32", "width": "constexpr"}
    kernel, target = ASTSource(add, kinds, {"width": 128}), GPUTarget("cuda", 80, 32)

    def slow():
        with tempfile.TemporaryDirectory() as folder:
            triton.knobs.cache.dir = folder
            return triton.compile(kernel, target=target)

    def quick():
        return triton.compile(kernel, target=target)

    triton.knobs.cache.dir = tempfile.mkdtemp()
    quick()
    return slow, quick


def torch_shapes():
    import torch

    lengths = iter(range(10, 100000))

    def step(rows):
        return torch.tanh(rows @ rows.T).sum()

    fixed, free = (torch.compile(step, dynamic=dynamic) for dynamic in (False, True))
    torch._dynamo.config.cache_size_limit = 100000
    torch._dynamo.config.recompile_limit = 100000
    free(torch.ones(7, 8))
    free(torch.ones(9, 8))

    def slow():
        return fixed(torch.ones(next(lengths), 8))

    def quick():
        return free(torch.ones(next(lengths), 8))

    return slow, quick


def main():
    run = Steady()
    gc.set_threshold(200000)  # garbage is another culprit
    slow, quick = {**vars(slow_packages), **vars(slow_fallbacks), **vars(slow_again),
                   **globals()}[sys.argv[-1]]()
    step = quick if run.twin else slow
    run.ready()
    while run.goes_on():
        step()


main()
