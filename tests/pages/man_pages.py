#!/usr/bin/env python3
"""Holds the man pages against the help, against the sources, and against what man and mandoc say.

usage: man_pages.py WALLSPY SOURCE_ROOT PAGE.1...
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

given = {}
SKIPPED = 77
# An entry of the help: an option in column 2 or 6, and lines that begin in column 26.
ENTRY = re.compile(r"^ {2}(?:-\w, | {4})--\S.*\n(?: {26}.*\n)*", re.M)
# Frames that wallspy puts into stacks, and texts in place of a wait, as the sources have them.
FRAME = re.compile(r'"(\[[A-Za-z][A-Za-z_ ]*[a-zA-Z]\]|\[(?:task|traced by) )[^"]*"')
FRAMES_FROM = ("worker/*.c", "pyframes/*.c", "profile/profile.c", "summary/paths.c",
               "summary/view.c", "summary/wait_text.c")
NO_FRAMES = ("[vdso]", "[module]", "[execve", "[off-cpu]")


def run(*words, **env):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, env={**os.environ, **env})


def rendered(page):
    """What man shows of a page, as one line, and what it complains of."""
    done = run("man", "--warnings=w", "-E", "ascii", "-P", "cat", "-l", page, MANWIDTH="80",
               LC_ALL="C")
    return " ".join(done.stdout.split()), done.stderr


def page_of(command):
    name = "wallspy.1" if command == "record" else f"wallspy-{command}.1"
    return next(page for page in given["pages"] if os.path.basename(page) == name)


def sources(*patterns):
    for pattern in patterns:
        for path in sorted(given["root"].glob(pattern)):
            yield path.read_text()


class Pages(unittest.TestCase):
    def test_nothing_is_wrong_with_the_macros(self):
        for page in given["pages"]:
            text, complaints = rendered(page)
            self.assertEqual(complaints, "", page)
            self.assertNotRegex(text, r"\w- \w", page) # a word that is broken, such as an option
            if shutil.which("mandoc"):
                self.assertEqual(run("mandoc", "-T", "lint", page).stdout, "", page)
            if shutil.which("lexgrog"): # what whatis and apropos read
                self.assertEqual(run("lexgrog", page).returncode, 0, page)

    def test_they_say_what_the_help_says(self):
        for command in ("record", "dump", "standby", "doctor", "report", "export", "ctl"):
            page = rendered(page_of(command))[0]
            text = run(given["wallspy"], "help", command).stdout
            entries = ENTRY.findall(text)
            self.assertGreaterEqual(len(entries), 2)
            for entry in entries:
                self.assertIn(" ".join(entry.split()) + ".", page)
            for usage in re.findall(rf"(?m)^(?:usage:|      ) (wallspy \[?{command}.*)", text):
                self.assertIn(usage, page)

    def test_every_way_to_help_is_the_same(self):
        for command in ("record", "dump", "standby", "doctor", "report", "export", "ctl"):
            text = run(given["wallspy"], "help", command).stdout
            for words in ([command, "--help"], [command, "-h"]):
                self.assertEqual(run(given["wallspy"], *words).stdout, text)
        for words in (["help"], ["-h"], ["--help"]):
            self.assertEqual(run(given["wallspy"], *words).stdout,
                             run(given["wallspy"], "help", "record").stdout)

    def test_frames_exit_codes_and_environment_are_whole(self):
        page = rendered(page_of("record"))[0]
        frames = {frame for text in sources(*FRAMES_FROM) for frame in FRAME.findall(text)}
        frames = {frame for frame in frames if not frame.startswith(NO_FRAMES)}
        self.assertGreaterEqual(len(frames), 15)
        for frame in frames:
            self.assertIn(frame, page)
        header = "".join(sources("cli/exit_codes.h"))
        status = page[page.index(" EXIT STATUS "):page.index(" SIGNALS ")]
        codes = re.findall(r"EXIT_\w+ = (\d+)", header)
        self.assertGreaterEqual(len(codes), 10)
        for code in codes:
            self.assertRegex(status, rf" {code} [A-Zw]")
        environment = page[page.index(" ENVIRONMENT "):page.index(" SEE ALSO ")]
        names = re.findall(r'getenv\("(\w+)"\)|sudo_id\("(\w+)"\)', "".join(sources("*/*.c")))
        self.assertGreaterEqual(len(names), 8)
        for name in names:
            self.assertIn(f"{name[0] or name[1]}", environment)

    def test_each_key_of_the_json_is_explained(self):
        page = rendered(page_of("dump"))[0]
        part = page[page.index(" OUTPUT OF --json "):page.index(" EXAMPLES ")]
        keys = set(re.findall(r'"([a-z_]+)"', "".join(sources("cli/dump_json.c"))))
        self.assertGreaterEqual(len(keys), 25)
        for key in keys:
            self.assertRegex(part, rf"\b{key}\b")

    def test_the_words_of_the_quality_line_are_there(self):
        page = rendered(page_of("record"))[0]
        for words in ("N of M ticks skipped", "N frames guessed", "rate lowered to N Hz",
                      "N ended threads merged by name (--max-size)"):
            self.assertIn(f" {words} ", page)


if __name__ == "__main__":
    given["wallspy"], given["root"] = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    given["pages"] = sys.argv[3:]
    if not shutil.which("man"):
        print("man is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
