"""A library asks a service that does not answer, before it does what the program asked it for.

usage: silent_service.py SECONDS metadata|hub
"""
import os
import signal
import socket
import sys
import tempfile

from steady import Steady

run = Steady()


def of_metadata():
    import botocore.session
    session = botocore.session.Session()
    session.set_config_variable("metadata_service_timeout", 2)
    return session.get_credentials()


def of_hub():
    from huggingface_hub import hf_hub_download
    return hf_hub_download("shop/prices", "config.json", etag_timeout=2)


def load_prices(ask):
    try:
        return ask()
    except Exception:
        return None


silent = socket.create_server(("127.0.0.1", 0), backlog=64)
url = "http://127.0.0.1:%d" % silent.getsockname()[1]
run.start_apart(lambda: (signal.alarm(60), signal.pause()))
silent.close()  # the other program has it
os.environ["HOME"] = os.environ["HF_HOME"] = tempfile.mkdtemp()
os.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = os.environ["HF_ENDPOINT"] = url
run.ready()
while run.goes_on():
    load_prices(globals()["of_" + sys.argv[-1]])
