"""One of two ends of a TCP connection: peer.py serve waits for the other end and then sleeps;
peer.py ask ADDRESS waits for an answer from there.  The ports are always the same."""
import socket
import sys
import time

SERVER, CLIENT = 7001, 7002


def listen():
    return socket.create_server(("", SERVER))


def serve():
    with listen() as server:
        print("ready", flush=True)
        _peer, _ = server.accept()
        time.sleep(1000)


def ask(address):
    with socket.create_connection((address, SERVER), source_address=("", CLIENT)) as server:
        print("ready", flush=True)
        server.recv(1)


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
