"""A server of HTTP, whose reports ask it for its own rates.  The culprit: it answers one request
after the other, and so waits for itself; in the twin each has a thread.
"""
import urllib.request

import served
from steady import Steady


class Mirror(served.Handler):
    def do_GET(self):  # pylint: disable=invalid-name
        if self.path == "/report":
            self.make_report()
        self.answer()

    def make_report(self):
        port = self.server.server_address[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/rates") as rates:
            Mirror.done += rates.status == 204


def come(address):
    served.ask_again_and_again(address, "/report")


def main():
    served.start(Steady(), Mirror, come, "reports_per_s").serve_forever()


main()
