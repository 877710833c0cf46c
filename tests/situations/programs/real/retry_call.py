"""A price is asked for.  The culprit: the server refuses, and the library sleeps before it asks
again.

usage: retry_call.py SECONDS tenacity|backoff|urllib3|openai
"""
import http.server
import sys
import threading

from steady import Steady

run = Steady()


class Refusing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_):
        pass


def of_tenacity(url):
    import requests
    import tenacity
    again = tenacity.retry(wait=tenacity.wait_fixed(0.5))
    return again(lambda: requests.get(url).raise_for_status())


def of_backoff(url):
    import backoff
    import requests
    again = backoff.on_exception(backoff.constant, Exception, interval=0.5, jitter=None)
    return again(lambda: requests.get(url).raise_for_status())


def of_urllib3(url):
    import urllib3
    retries = urllib3.Retry(20, backoff_factor=0.5, backoff_max=0.5, status_forcelist=[503])
    return lambda: urllib3.request("GET", url, retries=retries)


def of_openai(url):
    import openai
    client = openai.OpenAI(api_key="none", base_url=url, max_retries=50)
    return lambda: client.chat.completions.create(model="any", messages=[])


def price_of(ask):
    ask()


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ask = globals()[f"of_{sys.argv[-1]}"](f"http://127.0.0.1:{server.server_port}/")
    threading.Timer(2, run.ready).start()
    price_of(ask)


main()
