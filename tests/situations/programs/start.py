"""A command that is started again and again, and imports its packages each time.  The culprit:
two of them are large (their code is compiled at each start, because no bytecode is kept); in the
twin they are small, and the command computes.
"""
import importlib
import os
import pathlib
import sys
import tempfile
import time

from steady import Steady

run = Steady()
PACKAGES = {"ledger": 20, "charts": 10, "colours": 1}  # modules
FUNCTIONS = 1 if run.twin else 100


def install(folder):
    for name, modules in PACKAGES.items():
        package = pathlib.Path(folder, name)
        package.mkdir(parents=True)
        modules = 1 if run.twin else modules
        imports = "".join(f"from . import m{module}\n" for module in range(modules))
        (package / "__init__.py").write_text(imports, "ascii")
        code = "".join(f"def f{number}(a, b):\n    return [a * i + b for i in range(a)]\n"
                       for number in range(FUNCTIONS))
        for module in range(modules):
            (package / f"m{module}.py").write_text(code, "ascii")


def start():
    began = time.monotonic()
    for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
        del sys.modules[name]
    for name in PACKAGES:
        importlib.import_module(name)
    return time.monotonic() - began


def compute():
    value = 1
    end = time.thread_time() + 0.04
    while time.thread_time() < end:
        value = value * 31 % 65521
    return value


def main():
    sys.dont_write_bytecode = True
    imported_s = 0
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "site-packages")
        install(folder)
        sys.path.insert(0, folder)
        run.ready()
        while run.goes_on():
            imported_s += start()
            compute()
        run.tell(share=run.per_second(imported_s))


main()
