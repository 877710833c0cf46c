"""ucx_perftest (Debian's ucx-utils) sends a message, and its server sends it back.  The culprit:
the server, which is stopped for nine tenths of the time."""
import os
import signal
import subprocess
import time

from steady import Steady

PORT = "13971"
LINE = ["ucx_perftest", "-p", PORT, "-t", "tag_lat", "-n", "1000000000"]
run = Steady()
run.has_rounds = False
environment = {**os.environ, "UCX_TLS": "tcp,self"}
quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
server = subprocess.Popen(LINE, **quiet)
time.sleep(0.5)
client = subprocess.Popen([*LINE, "127.0.0.1"], **quiet)
time.sleep(1)
assert client.poll() is None, client.returncode
run.ready(client.pid)
while run.goes_on():
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(0.045)
    os.kill(server.pid, signal.SIGCONT)
    time.sleep(0.005)
client.kill()
server.kill()
