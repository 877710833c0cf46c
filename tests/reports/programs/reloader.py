"""Nobody calls the server, but its reloader looks at all files again and again."""
import os
import pathlib
import socket
import tempfile
import threading
import time

from account import Account

account = Account()


def find_changes(folder, times):
    changed = []
    with account.at("find_changes"):
        for root, _, files in os.walk(folder):
            for file in files:
                path = os.path.join(root, file)
                time_then = times.setdefault(path, os.stat(path).st_mtime)
                if os.stat(path).st_mtime != time_then:
                    changed.append(path)
    return changed


def reload(folder):
    times = {}
    while account.goes_on():
        find_changes(folder, times)
        time.sleep(0.02)


with tempfile.TemporaryDirectory() as folder:
    for i in range(60):
        package = pathlib.Path(folder, f"package{i}")
        package.mkdir()
        for k in range(100):
            (package / f"module{k}.py").touch()
    server = socket.create_server(("127.0.0.1", 0))
    account.ready()
    reloader = threading.Thread(target=reload, args=(folder,), name="reloader", daemon=True)
    reloader.start()
    server.settimeout(max(0.1, account.end - time.monotonic()))
    try:
        server.accept()
    except TimeoutError:
        pass
    reloader.join()
account.tell()
