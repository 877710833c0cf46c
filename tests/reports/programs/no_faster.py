"""Four threads compute, and only one of them can."""
import concurrent.futures

from account import Account

account = Account()


def parse_command(line):
    with account.at("parse_command", off_cpu=True):
        for _ in range(3000):
            words = [word.strip("-").lower() for word in line.split()]
        return {word: len(word) for word in words}


with concurrent.futures.ThreadPoolExecutor(4, thread_name_prefix="parser") as pool:
    account.ready()
    while account.goes_on():
        list(pool.map(parse_command, ["gcc -O2 -Wall -c -Iinclude -DNAME=x main.c " * 20] * 8))
    account.tell(threads=4)
