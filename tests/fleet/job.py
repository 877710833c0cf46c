"""A job of some ranks that compute and talk to each other, and a fault of one of them.

usage: job.py WAY RANKS FAULT ODD: the WAY that they talk, a class below, the FAULT that rank ODD
has in its third step, a function below; "none" is a job without one.  Prints the pids of the ranks,
in their order, when the fault has begun; ends with its stdin.
"""
import fcntl
import gc
import multiprocessing
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

FAULT_STEP, BYTES = 3, 4096
WAIT_FOR_FAULT_S = 0.3


# ---- the ways that ranks talk ----

def connect():
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname())
        there, _ = server.accept()
    return here, there


def receive(peer, n):
    data = b""
    while len(data) < n:
        part = peer.recv(n - len(data))
        if not part:
            time.sleep(1000)  # as a library that tries to connect again
        data += part
    return data


class Ring:
    """Each sends to the next one and receives from the one before."""

    def __init__(self, n):
        self.pairs = [connect() for _ in range(n)]

    def take_part(self, rank, n):
        self.right, self.left = self.pairs[rank][0], self.pairs[rank - 1][1]
        self.n = n
        for i, (a, b) in enumerate(self.pairs):
            if i != rank:
                a.close()
            if i != (rank - 1) % n:
                b.close()

    def all_reduce(self, size=BYTES):
        for _ in range(self.n - 1):
            self.right.sendall(b"x" * size)
            receive(self.left, size)


class Star:
    """Rank 0 receives from all, and answers."""

    def __init__(self, n):
        self.pairs = [connect() for _ in range(n)]

    def take_part(self, rank, n):
        self.rank = rank
        self.others = [a for a, _ in self.pairs[1:]]
        self.centre = self.pairs[rank][1]
        for i, (a, b) in enumerate(self.pairs):
            if rank:
                a.close()
            if i != rank:
                b.close()

    def all_reduce(self, size=BYTES):
        if self.rank:
            self.centre.sendall(b"x" * size)
            receive(self.centre, size)
            return
        for peer in self.others:
            receive(peer, size)
        for peer in self.others:
            peer.sendall(b"x" * size)


class Hub(Star):
    """Rank 0 takes what comes first, of whom it may be, and answers when it has all."""

    def all_reduce(self, size=BYTES):
        if self.rank:
            super().all_reduce(size)
            return
        waiting = dict.fromkeys(self.others, size)
        with select.epoll() as events:
            for peer in waiting:
                events.register(peer, select.EPOLLIN)
            by_fd = {peer.fileno(): peer for peer in waiting}
            while waiting:
                for fd, _ in events.poll():
                    peer = by_fd[fd]
                    waiting[peer] -= len(receive(peer, min(waiting[peer], BYTES // 4)))
                    if not waiting[peer]:
                        events.unregister(peer)
                        del waiting[peer]
        for peer in self.others:
            peer.sendall(b"x" * size)


class Meeting:
    """A barrier in memory that all share."""

    def __init__(self, n):
        self.met = multiprocessing.get_context("fork").Barrier(n)

    def take_part(self, rank, n):
        pass

    def all_reduce(self, size=BYTES):
        self.met.wait()


class Pipeline(Ring):
    """Each waits for the one before; the last one's result comes back to the first."""

    def take_part(self, rank, n):
        super().take_part(rank, n)
        self.first = rank == 0

    def all_reduce(self, size=BYTES):
        if not self.first:
            receive(self.left, size)
        self.right.sendall(b"x" * size)
        if self.first:
            receive(self.left, size)


class Spin:
    """Each looks all the time if the others have come, as MPI does."""

    def __init__(self, n):
        self.come = multiprocessing.get_context("fork").RawArray("q", n)

    def take_part(self, rank, n):
        self.rank = rank

    def all_reduce(self, size=BYTES):
        self.come[self.rank] += 1
        while min(self.come) < self.come[self.rank]:
            pass


WAYS = {"ring": Ring, "star": Star, "hub": Hub, "barrier": Meeting, "pipeline": Pipeline,
        "spin": Spin}


# ---- faults ----

def missing_collective(job):
    """It goes on to its evaluation, without the step's all_reduce()."""
    job.skip = True


def load_batch(job):
    """Its data do not come."""
    reading, _ = job.keep(os.pipe())
    os.read(reading, 100)


def fifo(job):
    """It reads a file that nobody writes."""
    path = tempfile.mktemp()
    os.mkfifo(path)
    job.reading = open(path, "rb")


def back_off(job):
    """It tries again later."""
    time.sleep(1000)


def collect_garbage(job):
    """It is in the garbage collector."""
    job.graph = [[i] for i in range(300000)]
    while True:
        gc.collect()


def compute(job):
    """It is slow."""
    while True:
        sum(i * i for i in range(10000))


def compute_in_c(job):
    """It is slow in a library."""
    sorted(range(1 << 22), key=lambda x: -x)
    while True:
        pow(3, 1 << 20, (1 << 4096) - 1)


def die(job):
    """It is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def stop(job):
    """Somebody stops it."""
    os.kill(os.getpid(), signal.SIGSTOP)


def other_size(job):
    """It waits for more than the others send."""
    job.size = BYTES * 3


def file_lock(job):
    """It waits for a lock that another process has."""
    with open(job.lock_path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def wait_for_thread(job):
    """Its own threads wait for each other."""
    lock = threading.Lock()
    with lock:
        helper = threading.Thread(target=lock.acquire, daemon=True)
        helper.start()
        helper.join()


def run_command(job):
    """It waits for a command."""
    with subprocess.Popen(["sleep", "1000"]) as command:
        job.commands.append(command)
        command.wait()


def ask_server(job):
    """It waits for the answer of a server."""
    server = job.keep(socket.create_server(("127.0.0.1", 0)))
    with socket.create_connection(server.getsockname()) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        connection.recv(100)


def write_log(job):
    """Nobody reads what it prints."""
    _, writing = job.keep(os.pipe())
    while True:
        os.write(writing, b"x" * 4096)


def ask_debugger(job):
    """It has met a breakpoint."""
    reading, _ = job.keep(os.pipe())
    with os.fdopen(reading) as file:
        file.readline()


def finish_early(job):
    """It has fewer batches than the others, and waits for their end."""
    job.done.wait()


def wait_for_worker(job):
    """The process that loads its data does not answer."""
    here, there = multiprocessing.get_context("fork").Pipe()
    worker = os.fork()
    if not worker:
        here.close()
        there.recv()
        os._exit(0)
    job.workers.append(worker)
    here.recv()


def hold_the_gil(job):
    """A thread of its own keeps the GIL."""
    sys.setswitchinterval(1000)

    def hog():
        while True:
            pow(3, 1 << 18, (1 << 2048) - 1)
    threading.Thread(target=hog, daemon=True).start()
    time.sleep(0.01)


FAULTS = {f.__name__: f for f in (
    missing_collective, load_batch, fifo, back_off, collect_garbage, compute, compute_in_c, die,
    stop, other_size, file_lock, wait_for_thread, run_command, ask_server, write_log, ask_debugger,
    finish_early, wait_for_worker, hold_the_gil)}


# ---- a rank ----

class Job:
    """What a rank has."""

    def __init__(self, way, rank, fault, odd, shared):
        self.way, self.others = way
        self.rank, self.fault, self.odd = rank, fault, odd
        self.lock_path, self.done, self.begun = shared
        self.skip, self.size, self.kept = False, BYTES, []
        self.commands, self.workers = [], []

    def keep(self, thing):
        self.kept.append(thing)
        return thing


def forward(job, pace):
    end = time.monotonic() + pace
    while time.monotonic() < end:
        sum(range(100))


def evaluate(job):
    job.others.all_reduce()


def train_step(job, step, pace):
    forward(job, pace)
    if step == FAULT_STEP:
        os.write(job.begun, b"x")
        if job.rank == job.odd and job.fault in FAULTS:
            FAULTS[job.fault](job)
    if not job.skip:
        job.way.all_reduce(job.size)
    job.skip = False


def prefetch():
    """What a library's helper threads do."""
    queue.Queue().get()


def train(job, pace):
    for _ in range(1 + job.rank % 3):
        threading.Thread(target=prefetch, daemon=True).start()
    step = 0
    while True:
        step += 1
        train_step(job, step, pace)
        if step % FAULT_STEP == 0:
            evaluate(job)


# ---- jobs without a fault ----

def uneven(job):
    """Ranks have different work, and wait for each other for short times."""
    train(job, 0.005 * (1 + job.rank % 5))


def long_steps(job):
    """All compute for a minute."""
    os.write(job.begun, b"x")
    forward(job, 60)


def load_evenly(job):
    """All read from slow storage, in turns."""
    os.write(job.begun, b"x")
    while True:
        time.sleep(0.02)
        job.way.all_reduce()
        forward(job, 0.01)


def serve(job):
    """All wait for requests."""
    server = socket.create_server(("127.0.0.1", 0))
    os.write(job.begun, b"x")
    server.accept()


def master(job):
    """Rank 0 saves and logs, meanwhile the others go on."""
    os.write(job.begun, b"x")
    while True:
        if not job.rank:
            forward(job, 0.02)
        job.way.all_reduce()
        forward(job, 0.005)


def sleepers(job):
    """All wait for the next minute."""
    os.write(job.begun, b"x")
    time.sleep(60)


def spin(job):
    """All look at a flag all the time."""
    os.write(job.begun, b"x")
    while not job.done.is_set():
        pass


HEALTHY = {f.__name__: f for f in (uneven, long_steps, load_evenly, serve, master, sleepers, spin)}


# ---- the job ----

def run_rank(job, n):
    os.environ.update(RANK=str(job.rank), WORLD_SIZE=str(n), LOCAL_RANK=str(job.rank % 4))
    job.way.take_part(job.rank, n)
    job.others.take_part(job.rank, n)
    if job.fault in HEALTHY:
        HEALTHY[job.fault](job)
    else:
        train(job, 0.002)


def main():
    way_name, n, fault, odd = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    way = WAYS[way_name](n), WAYS[way_name](n)
    reading, begun = os.pipe()
    done = multiprocessing.get_context("fork").Event()
    with tempfile.NamedTemporaryFile() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        pids = []
        for rank in range(n):
            pid = os.fork()
            if not pid:
                lock.file.close()
                run_rank(Job(way, rank, fault, odd, (lock.name, done, begun)), n)
                os._exit(1)
            pids.append(pid)
        seen = 0
        while seen < n:
            seen += len(os.read(reading, n))
        time.sleep(WAIT_FOR_FAULT_S)
        print(*pids, flush=True)
        sys.stdin.read()
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    os.setpgid(0, 0)
    main()
