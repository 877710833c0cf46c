"""A server of HTTP that answers its clients one after the other.  The culprit: the first client has
connected and asks for nothing, as browsers do ahead of time, and the server waits for it while
others wait to be accepted; in the twin each client has a thread.
"""
import socket
import time

import served
from steady import Steady


class Desk(served.Handler):
    def do_GET(self):  # pylint: disable=invalid-name
        Desk.done += 1
        self.answer()


def come(address):
    with socket.create_connection(address):
        time.sleep(0.2)
        served.ask_again_and_again(address, "/")


def main():
    served.start(Steady(), Desk, come, "answers_per_s").serve_forever()


main()
