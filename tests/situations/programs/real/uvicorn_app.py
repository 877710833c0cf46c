"""FastAPI on uvicorn.  The culprit: report() computes in the event loop; stock() sleeps in a thread
of its pool, which is none.
"""
import threading
import time
import urllib.request

import uvicorn
from fastapi import FastAPI
from steady import Steady

app = FastAPI()
run = Steady()
server = uvicorn.Server(uvicorn.Config(app, port=8733, log_level="error"))
longest_s = 0.0


@app.get("/report")
async def report():
    global longest_s
    start = time.monotonic()
    while time.monotonic() - start < 0.15:
        pass
    longest_s = max(longest_s, time.monotonic() - start)
    return 1


@app.get("/stock")
def stock():
    time.sleep(0.05)
    return 1


def ask(path):
    while run.goes_on():
        urllib.request.urlopen(f"http://127.0.0.1:8733/{path}").read()
        time.sleep(0.05)


def clients():
    time.sleep(1)
    threads = [threading.Thread(target=ask, args=(path,), name="client-" + path)
               for path in ("report", "stock")]
    run.ready()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.should_exit = True


threading.Thread(target=clients, name="clients").start()
server.run()
run.tell(longest_s=longest_s)
