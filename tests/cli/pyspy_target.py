"""A Python program for dumps in py-spy's form: pyspy_target.py FOLDER KIND.

Makes a package in FOLDER.  KIND: wait; spin, with a thread that runs Python; launch, with a child
that waits and one that is no Python; child.  Prints "MAIN LOADER", the identifiers of its two
threads, as the first line.  The end of its input ends it.
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import threading

WORK = """import threading

gate = threading.Event()


class Worker:
    def serve(self, limit, token):
        plain = "a 'b'"
        gate.wait()
        return plain
"""


def make_package(folder):
    inner = pathlib.Path(folder, "acme", "inner")
    inner.mkdir(parents=True, exist_ok=True)
    (inner.parent / "__init__.py").touch()
    (inner / "__init__.py").touch()
    (inner / "work.py").write_text(WORK, encoding="ascii")
    sys.path.insert(0, str(folder))


def start_native():
    """A thread that never runs Python, and waits in pause()."""
    libc = ctypes.CDLL(None)
    handle = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(handle), None, libc.pause, None)


def spin():
    while True:
        pass


def hang():
    os.read(0, 1)


def main(folder, kind):
    make_package(folder)
    from acme.inner.work import Worker  # pylint: disable=import-error,import-outside-toplevel
    loader = threading.Thread(target=Worker().serve, args=(3, "hunter2"), name="loader 1",
                              daemon=True)
    loader.start()
    start_native()
    if kind == "spin":
        threading.Thread(target=spin, name="spinner", daemon=True).start()
    if kind == "launch":
        with subprocess.Popen([sys.executable, __file__, folder, "child"],
                              stdout=subprocess.PIPE) as child, subprocess.Popen(["cat"]):
            child.stdout.readline()
            print(threading.get_ident(), loader.ident, flush=True)
            child.wait()
        return
    print(threading.get_ident(), loader.ident, flush=True)
    hang()


if __name__ == "__main__":
    main(*sys.argv[1:])
