"""Reads a catalogue into objects, answers one question, and ends.  The culprit: at its end all
objects are freed, one by one, which takes longer than its work; the twin ends by os._exit()."""
import gc
import os

from steady import Steady

run = Steady()
ENTRIES = 1500000


class Entry:
    def __init__(self, number):
        self.key, self.words, self.next = f"entry {number}", [f"word {number}",
                                                              (number, number + 1)], None


def answer(entries):
    return sum(len(entry.words) for entry in entries.values())


def read_catalogue():
    entries = {}
    for number in range(ENTRIES):
        entry = Entry(number)
        entry.next = entries.get(f"entry {number * 7919 % (number + 1)}")
        entries[entry.key] = entry
    return entries


def main():
    gc.disable()
    entries = read_catalogue()
    run.ready()
    while run.twin and run.goes_on():
        answer(entries)
    answer(entries)
    if run.twin:
        os._exit(0)
    globals()["kept"] = entries  # until the interpreter ends


main()
