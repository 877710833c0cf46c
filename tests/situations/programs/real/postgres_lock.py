"""Asks PostgreSQL to change a row.  The culprit: another session has locked it."""
import os
import pathlib
import subprocess
import tempfile
import time

from steady import Steady

TOOLS = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
FOLDER = tempfile.mkdtemp(dir="/tmp")
run = Steady()
run.has_rounds = False


def session():
    return subprocess.Popen(["psql", "-q", "-h", FOLDER, "-U", "postgres"], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def ask(psql, *commands):
    print(*commands, "select pg_backend_pid();", sep="\n", file=psql.stdin, flush=True)


def pid_of(psql):
    ask(psql)
    lines = [psql.stdout.readline() for _ in range(5)]
    return next(int(line) for line in lines if line.strip().isdigit())


os.chown(FOLDER, 65534, 65534)
subprocess.run([TOOLS / "initdb", "-D", FOLDER + "/data", "-U", "postgres", "-A", "trust"],
               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=65534)
server = subprocess.Popen([TOOLS / "postgres", "-D", FOLDER + "/data", "-k", FOLDER, "-h", ""],
                          user=65534, stderr=subprocess.DEVNULL)
time.sleep(2)
first, second = session(), session()
ask(first, "create table stock as select 1 as item, 9 as number;")
pid_of(first)
waiting = pid_of(second)
ask(first, "begin;", "update stock set number = 8;")
time.sleep(0.5)
ask(second, "update stock set number = 7;")
time.sleep(0.5)
run.ready(waiting)
while run.goes_on():
    time.sleep(0.1)
server.kill()
