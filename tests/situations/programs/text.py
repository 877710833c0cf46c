"""Counts words, in Python, all the time.  Healthy."""
import collections

from steady import Steady

run = Steady()
TEXT = "the wind in the willows and the river below the wood " * 200


def count_words(text):
    counts = collections.Counter()
    for word in text.split():
        counts[word.strip(".,").lower()] += 1
    return counts


def main():
    total = 0
    run.ready()
    while run.goes_on():
        total += sum(count_words(TEXT).values())
    run.tell(words_per_s=run.per_second(total))


main()
