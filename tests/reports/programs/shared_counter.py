"""Workers count in one shared variable, word by word."""
import multiprocessing

from account import Account

account = Account()
counter = multiprocessing.Value("i", 0)
by_length = multiprocessing.Array("i", 40, lock=False)


def count_tokens(words):
    for word in words:
        with account.at("count_tokens"):
            counter.get_lock().acquire()
        try:
            counter.get_obj().value += 1
            for length in range(len(word)):
                by_length[length] += 1
        finally:
            counter.get_lock().release()


def work(_):
    while account.goes_on():
        count_tokens("shared counters are a queue in disguise".split() * 20)


account.ready()
account.tell(**account.in_children(6, work))
