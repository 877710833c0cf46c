"""Makes an album with a pool of four threads.  The culprit: each page is made by one of them, which
gives its pictures to the same pool and waits for them; four pages take all threads, and nobody is
left for the pictures.  The twin has a pool of its own for the pictures."""
import concurrent.futures
import hashlib
import threading
import time

from steady import Steady

run = Steady()
pages = concurrent.futures.ThreadPoolExecutor(4, thread_name_prefix="album")
pictures = pages
if run.twin:
    pictures = concurrent.futures.ThreadPoolExecutor(4, thread_name_prefix="picture")
all_begun = threading.Barrier(4)
DATA = bytes(1 << 18)


def make_picture(number):
    return hashlib.sha256(DATA[number:]).digest()


def make_page(number):
    all_begun.wait()
    made = [pictures.submit(make_picture, number + i) for i in range(3)]
    return sum(len(picture.result()) for picture in made)


def make_album():
    return sum(pages.map(make_page, range(4)))


def main():
    total = 0
    run.ready()
    while run.goes_on():
        total += make_album()
        time.sleep(0.02)
    run.tell(bytes_per_s=run.per_second(total))


main()
