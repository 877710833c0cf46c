"""Asks a server of gRPC's.  The culprit: look_up(), which sleeps in the server's pool."""
import subprocess
import sys
import time
from concurrent import futures

import grpc
from steady import Steady


def look_up(request, context):
    time.sleep(0.05)
    return request


class Shop(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(look_up)


def serve():
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Shop(),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


def main():
    run = Steady()
    server = subprocess.Popen([sys.executable, __file__, "0", "serve"], stdout=subprocess.PIPE)
    ask = grpc.insecure_channel(f"127.0.0.1:{int(server.stdout.readline())}").unary_unary("/shop/x")

    def look():
        return ask(b"item")

    look()
    run.repeat(look)
    server.terminate()


serve() if sys.argv[2:] == ["serve"] else main()
