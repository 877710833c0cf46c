"""A target for runtime_locations.py: the main thread sleeps in a chain of calls, another one
computes.

usage: runtime_locations_target.py SECONDS [exec]     exec: computes in before(), then becomes
                                                      itself anew
"""
import os
import sys
import threading
import time


def allow_tracing():
    """Yama lets only ancestors trace, if it is not told otherwise."""
    try:
        import ctypes
        ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1))  # PR_SET_PTRACER_ANY
    except ImportError:
        pass


def before():
    end = time.time() + 0.5
    while time.time() < end:
        pass
    os.execv(sys.executable, [sys.executable, "-S", __file__, sys.argv[1]])


def spin():
    started.set()
    while True:
        pass


def outer():
    inner()


def inner():
    started.wait()
    print("ready", flush=True)
    time.sleep(float(sys.argv[1]))


allow_tracing()
if "exec" in sys.argv:
    before()
started = threading.Event()
threading.Thread(target=spin, daemon=True).start()
outer()
