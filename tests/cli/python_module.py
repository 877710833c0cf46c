"""`python -m wallspy`: finds the command that was installed with it, and becomes it.

usage: python_module.py WALLSPY PACKAGE PYTHON...
PACKAGE is the folder of the package's sources; each PYTHON must manage.
"""
import ast
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import unittest

PROGRAM, PACKAGE = map(os.path.abspath, sys.argv[1:3])
PYTHONS = sys.argv[3:]
SITE = "lib/python3/site-packages"
# Stands for the command where it matters which one was started, and how.
STUB = '#!/bin/sh\necho "$0"\necho $$\ngrep SigIgn /proc/$$/status\n'


class Installed(unittest.TestCase):
    """A prefix, as an installer lays it out, with no command in it."""

    @classmethod
    def setUpClass(cls):
        """An environment that nobody has installed wallspy into."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.environment = pathlib.Path(folder.name)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.environment], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name)
        shutil.copytree(PACKAGE, self.prefix / SITE / "wallspy",
                        ignore=shutil.ignore_patterns("__pycache__"))

    def start(self, *args, python=None):
        variables = {**os.environ, "PYTHONPATH": str(self.prefix / SITE),
                     "PYTHONUSERBASE": str(self.prefix / "user")}
        return subprocess.Popen([python or self.environment / "bin/python", "-m", "wallspy", *args],
                                env=variables, text=True, cwd=self.prefix,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def call(self, *args, **how):
        with self.start(*args, **how) as process:
            out, err = process.communicate(timeout=30)
        return process.returncode, out, err

    def put_stub(self, place):
        path = self.prefix / place / "wallspy"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STUB)
        path.chmod(0o755)
        return path

    def put_program(self):
        path = self.prefix / "bin/wallspy"
        path.parent.mkdir()
        path.symlink_to(PROGRAM)


class Lookup(Installed):
    def check_found(self, stub):
        code, out, err = self.call()
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines()[0], str(stub))

    def test_prefix(self):
        """Environments, --user, --prefix and the system's Python are laid out like this."""
        self.check_found(self.put_stub("bin"))

    def test_target(self):
        """pip install --target FOLDER"""
        self.check_found(self.put_stub(SITE + "/bin"))

    def test_scripts_of_the_interpreter(self):
        """A layout of its own: what Python itself says of it."""
        stub = self.put_stub(self.environment / "bin")
        self.addCleanup(stub.unlink)
        self.check_found(stub)

    def test_scripts_of_the_user(self):
        user = sysconfig.get_path("scripts", "posix_user", {"userbase": str(self.prefix / "user")})
        self.check_found(self.put_stub(user))

    def test_the_one_of_this_package_is_taken(self):
        stub = self.put_stub(self.environment / "bin")
        self.addCleanup(stub.unlink)
        self.put_stub("user/bin")
        self.check_found(self.put_stub("bin"))

    def test_what_cannot_be_executed_is_passed_over(self):
        self.put_stub(SITE + "/bin").chmod(0o644)
        self.check_found(self.put_stub("bin"))

    def test_there_is_none(self):
        code, out, err = self.call()
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(err, f"""python -m wallspy: the wallspy command is in none of \
{self.prefix / SITE}/bin, {self.prefix}/bin, {self.environment}/bin, {self.prefix}/user/bin. \
Install wallspy again.
""")

    def test_a_program_for_another_machine(self):
        stub = self.put_stub("bin")
        stub.write_bytes(b"\x7fELF" + bytes(60))
        self.assertEqual(self.call(), (
            1, "", f"python -m wallspy: cannot start {stub}: Exec format error.\n"))


class Passed(Installed):
    """What gets through to the command, and back."""

    def test_process_and_signals(self):
        self.put_stub("bin")
        with self.start() as process:
            out, _ = process.communicate(timeout=30)
        _, pid, ignored = out.splitlines()
        self.assertEqual(int(pid), process.pid)
        # Python ignores SIGPIPE, and a program that inherits this never ends in a pipe.
        self.assertEqual(int(ignored.split()[1], 16), 0)

    def test_arguments_and_status(self):
        self.put_program()
        script = 'printf "<%s>" "$@"; exit 7'
        code, out, _ = self.call("-o", "none", "--", "sh", "-c", script, "-", "a b", "", "-h")
        self.assertEqual((code, out), (7, "<a b><><-h>"))

    def test_a_signal_ends_the_recording(self):
        self.put_program()
        target = subprocess.Popen(["sleep", "60"])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        process = self.start("-o", "none", "-p", str(target.pid))
        lines = iter(process.stderr.readline, "")
        self.assertTrue(any("sampling" in line for line in lines))
        process.send_signal(signal.SIGINT)
        self.assertIn("quality", process.communicate(timeout=30)[1])
        self.assertEqual(process.returncode, 0)

    def test_each_python(self):
        self.put_program()
        expected = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout
        for python in PYTHONS:
            with self.subTest(python=python):
                self.assertEqual(self.call("--version", python=python), (0, expected, ""))


class Sources(unittest.TestCase):
    def test_the_oldest_python_that_may_install_it_can_read_it(self):
        for path in pathlib.Path(PACKAGE).glob("*.py"):
            ast.parse(path.read_text(), feature_version=(3, 6))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
