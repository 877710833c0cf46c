"""The logger's thread asks all the time whether its queue is empty."""
import queue
import threading
import time

from account import Account

account = Account()
lines = queue.Queue()
rested = 0.0


def threaded_logger(log):
    while account.goes_on():
        if not lines.empty():
            log.append(lines.get())


def poll_devices():
    global rested
    with account.at("poll_devices", off_cpu=True):
        time.sleep(0.002)
        rested += 0.002
        sum(range(3000))


log = []
account.ready()
logger = threading.Thread(target=threaded_logger, args=(log,), name="logger")
logger.start()
while account.goes_on():
    poll_devices()
    lines.put("polled")
logger.join()
waits = account.by_place()["poll_devices"] - rested
account.tell(waits_for_gil=waits)
