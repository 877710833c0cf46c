"""A server for other programs: it answers each request after some time."""
import threading
import time


def answer(connection, seconds):
    while connection.recv(100):
        time.sleep(seconds)
        connection.sendall(b"page")


def serve_pages(listener, seconds):
    """Serves for ever what LISTENER accepts.  SECONDS: for each answer."""
    while True:
        connection = listener.accept()[0]
        threading.Thread(target=answer, args=[connection, seconds], daemon=True).start()
