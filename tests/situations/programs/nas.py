"""Runs a program that sees a slow file system: nas.py PROGRAM ARGUMENT…, where <> is the folder in
the arguments.

Each read and fsync of a file there takes 20 ms; every name is a file of 16 KiB.  A FUSE file system
(linux/fuse.h), in a mount namespace of its own, of type "fuse.sshfs" from "nas:/export".  Exits 77
where that cannot be. With NAS_HANGS=1 it answers neither reads of a file nor questions for its
size, for 20 s.
"""
import contextlib
import ctypes
import os
import signal
import stat
import struct
import sys
import tempfile
import threading

from steady import Steady

LATENCY_S = 0.02
FILE_BYTES = 16384
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
RELEASE, FSYNC, FLUSH, INIT = 18, 20, 25, 26
BATCH_FORGET, INTERRUPT, CREATE = 42, 36, 35
ROOT = 1
CLONE_NEWNS, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x20000, 0x4000, 0x40000, 2, 4
FOPEN_DIRECT_IO = 1
HANGS = os.environ.get("NAS_HANGS") == "1"
libc = ctypes.CDLL(None, use_errno=True)


def attributes(node):
    """struct fuse_attr"""
    mode, size = (stat.S_IFDIR | 0o755, 0) if node == ROOT else (stat.S_IFREG | 0o644, FILE_BYTES)
    return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def entry(node):
    """struct fuse_entry_out: valid for an hour; what hangs is asked for its attributes each time"""
    return struct.pack("<4Q2I", node, 0, 3600, 0 if HANGS else 3600, 0, 0) + attributes(node)


class Server:
    def __init__(self, fuse):
        self.fuse = fuse
        self.nodes = {}  # name → number

    def node(self, name):
        return self.nodes.setdefault(name.split(b"\0")[0], len(self.nodes) + ROOT + 1)

    def answer(self, unique, data=b"", error=0):
        os.write(self.fuse, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)

    def answer_late(self, unique, data=b""):
        threading.Timer(LATENCY_S, self.answer, (unique, data)).start()

    def serve_one(self):
        request = os.read(self.fuse, 1 << 17)
        operation, unique, node = struct.unpack_from("<4xIQQ", request)
        body = request[40:]
        opened = struct.pack("<QII", 0, FOPEN_DIRECT_IO, 0)
        if HANGS and node != ROOT and operation in (GETATTR, READ):
            return
        if operation == INIT:
            self.answer(unique,
                        struct.pack("<4I2H2I2H8I", 7, 31, 4096, 1, 16, 12, 65536, 1, 16, 0,
                                    *[0] * 8)[:64])
        elif operation == LOOKUP:
            self.answer(unique, entry(self.node(body)))
        elif operation == CREATE:
            self.answer(unique, entry(self.node(body[16:])) + opened)
        elif operation in (GETATTR, SETATTR):
            self.answer(unique, struct.pack("<QII", 3600, 0, 0) + attributes(node))
        elif operation == OPEN:
            self.answer(unique, opened)
        elif operation == READ:
            self.answer_late(unique, bytes(struct.unpack_from("<16xI", body)[0]))
        elif operation == WRITE:
            self.answer(unique, struct.pack("<II", struct.unpack_from("<16xI", body)[0], 0))
        elif operation == FSYNC:
            self.answer_late(unique)
        elif operation in (RELEASE, FLUSH):
            self.answer(unique)
        elif operation not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.answer(unique, error=38)  # ENOSYS


def mount(folder):
    """Returns the descriptor by which the kernel asks.  Raises OSError."""
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
    for failed in (libc.unshare(CLONE_NEWNS),
                   libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None),
                   libc.mount(b"nas:/export", folder.encode(), b"fuse.sshfs", MS_NOSUID | MS_NODEV,
                              options.encode())):
        if failed:
            raise OSError(ctypes.get_errno(), "mount")
    return fuse


def serve(fuse):
    """Until the last program has ended that sees the file system."""
    server = Server(fuse)
    if HANGS:
        signal.alarm(20)  # whoever waits for it is let go then
    with contextlib.suppress(OSError):
        while True:
            server.serve_one()


def main():
    folder = tempfile.mkdtemp(prefix="data-")
    try:
        fuse = mount(folder)
    except OSError as error:
        os.rmdir(folder)
        print(f"no FUSE file system here: {error}")
        sys.exit(77)
    Steady.start_apart(serve, fuse)
    os.close(fuse)
    os.execvp(sys.argv[1], [argument.replace("<>", folder) for argument in sys.argv[1:]])


main()
