"""A cell of a Jupyter notebook.  The culprit: it asks a server that answers late, in the main
thread, where the kernel has its event loop; that has nothing else to do.
"""
import socket
import threading
import time

from jupyter_client import KernelManager
from steady import Steady

CELL = """
import socket

def fetch(address):
    with socket.create_connection(address) as connection:
        connection.recv(10)

for _ in range(1000):
    fetch({})
"""

run = Steady()


def serve(listener):
    while True:
        connection, _ = listener.accept()
        time.sleep(0.1)
        connection.send(b"x")
        connection.close()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    kernel = KernelManager()
    kernel.start_kernel()
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    client.execute(CELL.format(listener.getsockname()))
    time.sleep(0.5)
    run.ready(kernel.provisioner.pid)
    while run.goes_on():
        time.sleep(0.1)
    kernel.shutdown_kernel(now=True)


main()
