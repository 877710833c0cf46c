"""Still more slow code, for slow.py: in Python, where the same is there in C, and what looks at
each step of a program."""
import sys


def protobufs():
    import os

    if "--twin" not in sys.argv:
        os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
    from google.protobuf import struct_pb2

    data = struct_pb2.Struct()
    data.update({f"key{number}": number for number in range(200)})
    text = data.SerializeToString()

    def parse():
        return struct_pb2.Struct.FromString(text)

    return parse, parse


def messages():
    import msgpack
    from msgpack import fallback

    rows = [{"name": str(number), "price": number} for number in range(300)]

    def slow():
        return fallback.Packer().pack(rows)

    def quick():
        return msgpack.packb(rows)

    return slow, quick


def replies():
    import os
    import socket

    import redis
    from redis.connection import Connection

    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        serve(listener.accept()[0])
    names = {"parser_class": redis._parsers._RESP2Parser} if "--twin" not in sys.argv else {}
    connection = Connection(port=listener.getsockname()[1], protocol=2, **names)
    connection.connect()

    def ask():
        connection.send_command("LRANGE", "orders", 0, -1)
        return connection.read_response()

    return ask, ask


def serve(client):
    """As a server of redis, of which only LRANGE has an answer."""
    import os

    answer = b"*5000\r\n" + b"$5\r\nprice\r\n" * 5000
    while text := client.recv(1 << 16):
        wanted = text.count(b"LRANGE")
        client.sendall(answer if wanted else b"+OK\r\n" * text.count(b"*"))
    os._exit(0)


def heads():
    import h11
    import httptools

    head = b"GET /orders?n=1 HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\nUser-Agent: x\r\n\r\n"

    class Request:
        def on_header(self, name, value):
            pass

    def slow():
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(head)
        return connection.next_event()

    def quick():
        httptools.HttpRequestParser(Request()).feed_data(head)

    return slow, quick


def signatures_of_rsa():
    import rsa
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    from cryptography.hazmat.primitives.asymmetric import rsa as in_c

    key, kept = rsa.newkeys(1024)[1], in_c.generate_private_key(65537, 1024)

    def slow():
        return rsa.sign(b"order", key, "SHA-256")

    def quick():
        return kept.sign(b"order", padding.PKCS1v15(), hashes.SHA256())

    return slow, quick


def signatures_of_ecdsa():
    import ecdsa
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    key, kept = ecdsa.SigningKey.generate(ecdsa.NIST256p), ec.generate_private_key(ec.SECP256R1())

    def slow():
        return key.sign(b"order")

    def quick():
        return kept.sign(b"order", ec.ECDSA(hashes.SHA256()))

    return slow, quick


def documents_of_toml():
    import tomllib

    import tomlkit

    text = "".join(f"[shop{number}]\nname = 'x'\nprice = {number}\n" for number in range(50))

    def slow():
        return tomlkit.parse(text)["shop1"]["price"]

    def quick():
        return tomllib.loads(text)["shop1"]["price"]

    return slow, quick


def likenesses():
    import difflib

    from rapidfuzz import fuzz

    names = [f"{number * 7919 % 1000} High Street, Springfield" for number in range(60)]

    def slow():
        return max(difflib.SequenceMatcher(None, "19 High S. Springfield", name).ratio()
                   for name in names)

    def quick():
        return max(fuzz.ratio("19 High S. Springfield", name) for name in names)

    return slow, quick


def add_up(rows):
    total = 0
    for row in rows:
        if row % 3:
            total += row
        else:
            total -= 1
    return total


def covered():
    import coverage

    if "--twin" not in sys.argv:
        coverage.Coverage(data_file=None).start()

    def add():
        return add_up(range(5000))

    return add, add


def profiled():
    import cProfile

    profile = cProfile.Profile()

    def count(number):
        return number + 1

    def quick():
        for number in range(5000):
            count(number)

    def slow():
        profile.runcall(quick)

    return slow, quick
