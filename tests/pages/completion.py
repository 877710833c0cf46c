#!/usr/bin/env python3
"""What bash offers for a line of wallspy; and zsh and fish can read their files.

usage: completion.py WALLSPY BASH_FILE ZSH_FILE FISH_FILE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

given = {}
# COMP_TYPE of a TAB, and of a key that puts one match after the other into the line.
TAB, MENU = 9, 37
SLEEP = shutil.which("sleep")
SCRIPT = r"""
source "$1"; shift
COMP_TYPE=$1; shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
compopt() { :; } # may be used in a completion alone
_wallspy 2>&1
printf '%s\n' "${COMPREPLY[@]}"
"""


def offered(*words, kind=TAB, cwd=None):
    """What is offered for the last of WORDS, which are split as readline splits them."""
    done = subprocess.run(["bash", "--norc", "-c", SCRIPT, "bash", given["bash"], str(kind),
                           "wallspy", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=True, cwd=cwd)
    assert not done.stderr, done.stderr
    return [line for line in done.stdout.split("\n") if line]


class Bash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # What a target calls itself must not reach the terminal as it is.
        cls.programs = [subprocess.Popen([f"a \x1b[31m{i}", "1000"], executable=SLEEP)
                        for i in range(2)]
        cls.pids = [str(program.pid) for program in cls.programs]

    @classmethod
    def tearDownClass(cls):
        for program in cls.programs:
            program.kill()
            program.wait()

    def test_options_are_those_of_the_help(self):
        for command in ("record", "dump", "standby", "doctor", "report", "export", "ctl"):
            text = subprocess.run([given["wallspy"], "help", command], stdout=subprocess.PIPE,
                                  text=True, check=True).stdout
            names = re.findall(r"(?m)^ {2}(?:(-\w), | {4})(--[\w-]+)", text)
            self.assertEqual(offered(command, "-"),
                             [name for pair in names for name in pair if name])
            self.assertEqual(offered(command, "--h"),
                             [name for _, name in names if name.startswith("--h")])

    def test_options_end_at_the_command(self):
        self.assertEqual(offered("--no-s"), ["--no-stop"])
        self.assertEqual(offered("-q", "--no-s"), ["--no-stop"])
        self.assertEqual(offered("--", "ls", "--no-s"), [])
        self.assertEqual(offered("dump", "--lin"), [])

    def test_ctl_has_a_process_then_a_word(self):
        words = ["status", "snapshot", "mark", "pause", "resume", "stop"]
        self.assertEqual(offered("ctl", ""), words)
        self.assertEqual(offered("ctl", self.pids[0], ""), words)
        self.assertEqual(offered("ctl", self.pids[0], "st"), ["status", "stop"])
        self.assertEqual(offered("ctl", self.pids[0]), self.pids[:1])
        self.assertEqual(offered("ctl", "mark", ""), [])
        self.assertEqual(offered("ctl", "status", "--j"), ["--json"])

    def test_values_that_are_fixed(self):
        formats = ["speedscope", "folded", "raw"]
        self.assertEqual([f for f in offered("-f", "") if f in formats], formats)
        self.assertEqual(offered("--format", "fold"), ["folded"])
        self.assertEqual(offered("--format", "=", "fold"), ["folded"])
        self.assertEqual(offered("--color", "="), ["auto", "always", "never"])
        self.assertEqual(offered("dump", "--native", "="), ["full", "off"])
        self.assertEqual(offered("dump", "--native", "=", "o"), ["off"])
        self.assertEqual(offered("--native", "--lin"), ["--lines"])
        self.assertEqual(offered("--rate", ""), [])
        self.assertEqual(offered("-sr", ""), [])
        self.assertEqual(offered("-r10", "--lin"), ["--lines"])
        self.assertEqual(offered("--thread", "m"), ["main"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("out 1.json", "out.folded", "other"):
                open(f"{folder}/{name}", "w", encoding="utf-8").close()
            wanted = ["out 1.json", "out.folded"]
            for words in (["-o", "out"], ["-so", "out"], ["--output", "=", "out"],
                          ["record", "-p", "1", "--output", "out"]):
                self.assertEqual(sorted(offered(*words, cwd=folder)), wanted)

    def test_commands(self):
        self.assertEqual(offered(""), ["record", "dump", "standby", "doctor", "report", "export",
                                       "ctl", "py-spy", "install-py-spy", "help"])
        self.assertEqual(offered("py-spy", ""), ["dump", "record"])
        self.assertIn("standby", offered("stan"))
        self.assertEqual(offered("help", "d"), ["dump", "doctor"])

    def test_a_program_to_launch(self):
        for words in (["--", "slee"], ["-q", "slee"], ["standby", "slee"], ["slee"]):
            self.assertIn("sleep", offered(*words))
        with tempfile.TemporaryDirectory() as folder:
            open(f"{folder}/train.py", "w", encoding="utf-8").close()
            for words in (["--", "python3", "tr"], ["-o", "x.json", "python3", "-p", "tr"]):
                self.assertEqual(offered(*words, cwd=folder), ["train.py"])

    def test_pids_have_their_command_lines(self):
        first, second = self.pids
        for words in (["-p", ""], ["dump", "--pid", ""], ["--pid", "="], ["dump", ""], ["-q", ""],
                      ["doctor", ""]):
            lines = offered(*words)
            self.assertIn(f"{first} a ?[31m0 1000", [" ".join(l.split()) for l in lines])
            numbers = [line.split()[0] for line in lines]
            self.assertEqual(numbers, sorted(numbers, key=int))
            self.assertIn(second, numbers)

    def test_a_pid_goes_into_the_line_alone(self):
        first, second = self.pids
        if any(pid.startswith((first, second)) and pid not in (first, second)
               for pid in os.listdir("/proc")):
            self.skipTest("another process has a number that begins so")
        self.assertEqual(offered("-p", first), [first])
        self.assertEqual(offered("-p", f"{first},{second}"), [f"{first},{second}"])
        self.assertEqual(offered("-p", f"{first},{first}"), [])
        self.assertIn(first, offered("-p", "", kind=MENU))
        self.assertTrue(all(word.isdigit() for word in offered("-p", "", kind=MENU)))

    @unittest.skipIf(os.geteuid() != 0, "needs root to be another user")
    def test_a_user_is_offered_their_own(self):
        first, _ = self.pids
        with open(given["bash"], encoding="utf-8") as file:
            text = file.read()
        script = f"{text}\ncompopt() {{ :; }}; COMP_WORDS=(wallspy -p {first}); COMP_CWORD=2\n" \
                 '_wallspy; echo "${#COMPREPLY[@]}"'
        for uid, wanted in ((0, "1"), (65534, "0")):
            done = subprocess.run(["bash", "--norc", "-c", script], stdout=subprocess.PIPE,
                                  text=True, check=True, user=uid, cwd="/")
            self.assertEqual(done.stdout.strip(), wanted)

    def test_the_file_is_clean(self):
        if shutil.which("shellcheck"):
            # Globals that bash gives and takes, and arrays of lines.
            done = subprocess.run(["shellcheck", "-s", "bash", given["bash"]],
                                  stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.stdout, "")


class Others(unittest.TestCase):
    def test_zsh_and_fish_read_theirs(self):
        for shell in ("zsh", "fish"):
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", given[shell]], stderr=subprocess.PIPE,
                                      text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        def complete(line):
            script = f"source {given['fish']}; complete -C '{line}'"
            done = subprocess.run(["fish", "--no-config", "-c", script], stdout=subprocess.PIPE,
                                  text=True, check=True)
            return [text.split("\t")[0] for text in done.stdout.splitlines()]
        self.assertEqual(complete("wallspy dump --fr"), ["--freeze"])
        self.assertEqual(complete("wallspy --fr"), [])
        self.assertEqual(complete("wallspy --format fold"), ["folded"])
        self.assertIn("standby", complete("wallspy st"))
        self.assertIn(str(os.getpid()), complete("wallspy -p "))


if __name__ == "__main__":
    given["wallspy"], given["bash"], given["zsh"], given["fish"] = map(os.path.abspath,
                                                                           sys.argv[1:5])
    unittest.main(argv=sys.argv[:1], verbosity=2)
