"""Waits for the answers of a TLS server of another process, each of which takes 50 ms."""
import os
import socket
import ssl
import subprocess
import tempfile
import time

from steady import Steady

run = Steady()


def make_certificate(path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9",
                    "-subj", "/CN=localhost", "-keyout", path, "-out", path + ".crt"],
                   check=True, stderr=subprocess.DEVNULL)
    with open(path, "a", encoding="ascii") as key, open(path + ".crt", encoding="ascii") as crt:
        key.write(crt.read())


def serve(listener, path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    with context.wrap_socket(listener.accept()[0], server_side=True) as client:
        while client.recv(100):
            time.sleep(0.05)
            client.sendall(b"9")


def ask_rate(server):
    server.sendall(b"?")
    return server.recv(100)


def main():
    path = os.path.join(tempfile.mkdtemp(), "key.pem")
    make_certificate(path)
    listener = socket.create_server(("127.0.0.1", 0))
    run.start_apart(serve, listener, path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(listener.getsockname())) as server:
        run.repeat(lambda: ask_rate(server))


main()
