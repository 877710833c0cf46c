"""A thread that calls the kernel for each packet waits for the GIL after each call."""
import socket
import threading

from account import Account

account = Account()


def shape_packets():
    """Pure Python, as long as it goes on."""
    queue = list(range(200))
    while account.goes_on():
        queue = [(x * 7 + 3) % 1009 for x in queue]


def capture(sock):
    with account.at("capture", off_cpu=True):
        sock.send(b"packet")
        return sock.recv(2000)


sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind(("127.0.0.1", 0))
sock.connect(sock.getsockname())
account.ready()
inject = threading.Thread(target=shape_packets, name="inject")
inject.start()
while account.goes_on():
    capture(sock)
inject.join()
account.tell()
