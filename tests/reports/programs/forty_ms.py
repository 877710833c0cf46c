"""A request in two sends: the second one waits for the first one's acknowledgement."""
import os
import socket

from account import Account

account = Account()


def serve(server):
    sock, _ = server.accept()
    while True:
        request = b""
        while len(request) < 300:
            data = sock.recv(4096)
            if not data:
                return
            request += data
        sock.sendall(b"200 OK")


def post(sock):
    sock.send(b"header" * 25)
    sock.send(b"body.." * 25)
    with account.at("post"):
        return sock.recv(100)


server = socket.create_server(("127.0.0.1", 0))
child = os.fork()
if child == 0:
    serve(server)
    os._exit(0)
sock = socket.create_connection(server.getsockname())
account.ready()
while account.goes_on():
    post(sock)
sock.close()
os.waitpid(child, 0)
account.tell()
