#!/usr/bin/env python3
"""SKILL.md, by which an agent picks its command: all of them are there, and it stays one page.

usage: skill.py WALLSPY SOURCE_ROOT
"""
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

given = {}
MOST_WORDS = 800  # some 1,500 tokens
COMMANDS = ("dump", "report", "doctor", "export", "standby", "ctl")


def page():
    return (given["root"] / "SKILL.md").read_text()


def commands():
    """The words of each `wallspy …` of the page, redirections left out."""
    for line in re.findall(r"`(wallspy [^`]*)`", page()):
        yield shlex.split(line.split(" > ")[0])[1:]


def help_of(command):
    return subprocess.run([given["wallspy"], "help", command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


class Skill(unittest.TestCase):
    def test_each_option_is_one_of_its_command(self):
        lines = list(commands())
        self.assertGreater(len(lines), 8)
        for words in lines:
            command = words[0] if words[0] in COMMANDS else "record"
            text = help_of(command)
            for word in words:
                if word.startswith("-") and word != "--":
                    with self.subTest(" ".join(words)):
                        self.assertRegex(text, rf"(^|[ ,]){re.escape(word)}\b")

    def test_options_named_alone_are_of_dump(self):
        for option in re.findall(r"`(--[a-z-]+)`", page()):
            self.assertIn(option, help_of("dump"))

    def test_each_view_is_one_of_the_recording(self):
        views = re.findall(r"also (`.*?`) \|", page())[0]
        known = (given["root"] / "docs/recording.md").read_text()
        for view in re.findall(r"`(\w+)`", views):
            self.assertIn(f"** `{view}`", known)

    def test_it_is_one_page(self):
        self.assertLess(len(page().split()), MOST_WORDS)


if __name__ == "__main__":
    given["wallspy"] = sys.argv[1]
    given["root"] = pathlib.Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=2)
