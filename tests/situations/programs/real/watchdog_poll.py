"""Makes a thumbnail now and then, while watchdog's PollingObserver looks at 6000 files ten times a
second."""
import os
import tempfile
import time

from steady import Steady
from watchdog.events import FileSystemEventHandler
from watchdog.observers.polling import PollingObserver

run = Steady()


def make_files(root):
    for folder in range(100):
        path = os.path.join(root, str(folder))
        os.mkdir(path)
        for name in range(60):
            with open(os.path.join(path, str(name)), "w", encoding="ascii"):
                pass


def make_thumbnail(number):
    for pixel in range(20000):
        number += pixel * number % 7
    return number


root = tempfile.mkdtemp()
make_files(root)
observer = PollingObserver(timeout=0.1)
observer.schedule(FileSystemEventHandler(), root, recursive=True)
observer.start()
run.ready()
while run.goes_on():
    make_thumbnail(1)
    time.sleep(0.02)
observer.stop()
