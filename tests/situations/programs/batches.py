"""Fetches pages ten at a time, by a new pool of threads for each ten, and indexes them.  The
culprit: one page of ten comes slowly, and all wait; the twin has them, and much more to index."""
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from steady import Steady

run = Steady()
PAGES = 10


def fetch_page(number):
    if not run.twin:
        time.sleep(0.01 if number % PAGES else 0.4)
    return b"page %d" % number


def index_page(page):
    hashlib.pbkdf2_hmac("sha256", page, b"index", 20000 if run.twin else 3000)


def index_batch(first):
    """Returns for how long it waited."""
    with ThreadPoolExecutor(PAGES) as pool:
        pages = [pool.submit(fetch_page, first + i) for i in range(PAGES)]
        start = time.monotonic()
        fetched = [page.result() for page in as_completed(pages)]
        waited_s = time.monotonic() - start
    for page in fetched:
        index_page(page)
    return waited_s


def main():
    batches, waited_s = 0, 0.0
    run.ready()
    while run.goes_on():
        waited_s += index_batch(batches * PAGES)
        batches += 1
    run.tell(share=run.per_second(waited_s))


main()
