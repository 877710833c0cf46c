"""tools/ that users and CI call: which files are checked, what is installed, what is run, and what
is said at the end.

usage: tools.py ROOT [unittest's arguments]
"""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(sys.argv[1])


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text=""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def bring(self, *names):
        """Copies tools into a tools/ of the folder."""
        (self.folder / "tools").mkdir(exist_ok=True)
        for name in names:
            shutil.copy(ROOT / "tools" / name, self.folder / "tools")

    def call(self, *line, **how):
        return subprocess.run([self.folder / line[0], *line[1:]], cwd="/", capture_output=True,
                              text=True, check=False, **how)


class Includes(InFolder):
    def check(self):
        done = self.call("tools/check-includes")
        return done.returncode, done.stdout.splitlines()[:-1]

    def test_files_that_call_each_other_in_a_circle(self):
        self.bring("check-includes")
        self.write("base/a.c", "int a_begin(int x)\n{\n    return b_go(x);\n}\n")
        self.write("base/b.c",
                   "/* as a_begin() */\nint b_go(int x)\n{\n    return b->a_begin;\n}\n")
        self.assertEqual(self.check(), (0, []))
        self.write("base/b.c", "int b_go(int x)\n{\n    return x ? a_begin(x - 1) : 0;\n}\n")
        self.assertEqual(self.check(), (1, [".c files call each other in a circle: "
                                            "base/a.c -> base/b.c -> base/a.c"]))

    def test_a_static_function_of_the_same_name_is_the_files_own(self):
        self.bring("check-includes")
        self.write("base/a.c", "int a_begin(int x)\n{\n    return b_go(x);\n}\n")
        self.write("base/b.c", "static int a_begin(int x)\n{\n    return x;\n}\n\n"
                               "int b_go(int x)\n{\n    return a_begin(x);\n}\n")
        self.assertEqual(self.check(), (0, []))

    def test_waits_has_one_public_header(self):
        self.bring("check-includes")
        self.write("worker/a.c", '#include "waits/waits.h"\n')
        self.assertEqual(self.check(), (0, []))
        self.write("worker/a.c", '#include "waits/wait_owner.h"\n')
        self.assertEqual(self.check(),
                         (1, ["worker/a.c:1: worker/ may not include waits/wait_owner.h"]))

    def test_headers_that_include_each_other_in_a_circle(self):
        self.bring("check-includes")
        self.write("base/a.h", '#include "base/b.h"\n')
        self.write("base/b.h", '#include "base/a.h"\n')
        self.assertEqual(self.check(), (1, ["headers include each other in a circle: "
                                            "base/a.h -> base/b.h -> base/a.h"]))


class Copies(InFolder):
    def test_six_lines_that_stand_twice(self):
        self.bring("check-copies")
        lines = [f"    x += {i};" for i in range(7)]
        self.write("base/a.c", "\n".join(["int f(void)", "{", *lines, "}"]))
        self.write("base/b.c", "\n".join(["/* Other", " * words. */", *lines[:3], "", *lines[3:5],
                                          "    return x;"]))
        self.assertEqual(self.call("tools/check-copies").returncode, 0)
        self.write("base/b.c", "\n".join(["/* Other", " * words. */", *lines[:3], "", *lines[3:]]))
        found = self.call("tools/check-copies")
        self.assertEqual(found.returncode, 1)
        self.assertEqual(found.stdout.splitlines()[0], "base/b.c:3: as base/a.c:3")
        self.assertEqual(len(found.stdout.splitlines()), 2, "seven lines are one run")


class Tarball(InFolder):
    """A tree that is no clone."""

    def test_sources_and_nothing_that_was_built(self):
        self.bring("list-files")
        for name in ("base/a.c", "base/a.h", "docs/build.md", "build-test/b.c",
                     "tests/x/__pycache__/c.pyc", "dist/wallspy.whl",
                     "tests/browser/node_modules/d.js", "wallspy-demo.json",
                     "compile_commands.json"):
            self.write(name)
        self.assertEqual(self.call("tools/list-files").stdout.split(),
                         ["base/a.c", "base/a.h", "docs/build.md", "tools/list-files"])
        self.assertEqual(self.call("tools/list-files", r"\.h$").stdout.split(), ["base/a.h"])

    def test_a_check_finds_what_it_looks_for(self):
        self.bring("list-files", "check-sizes")
        self.assertEqual(self.call("tools/check-sizes").returncode, 0)
        self.write("base/a.c", "\n" * 701)
        done = self.call("tools/check-sizes")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "base/a.c: 701 lines, at most 700\ncheck-sizes: 1 too long\n"))

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_inside_of_another_clone(self):
        self.folder /= "other/tree"
        self.folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", self.folder.parent], check=True)
        self.bring("list-files")
        self.write("base/a.c")
        self.assertEqual(self.call("tools/list-files").stdout.split(),
                         ["base/a.c", "tools/list-files"])


class Clone(InFolder):
    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_only_what_git_knows(self):
        self.bring("list-files")
        self.write("base/a.c")
        self.write("base/scratch.c")
        for line in (["init", "-q"], ["add", "base/a.c"]):
            subprocess.run(["git", *line], cwd=self.folder, check=True)
        self.assertEqual(self.call("tools/list-files").stdout.split(), ["base/a.c"])


@unittest.skipUnless(importlib.util.find_spec("tomllib"), "Python is older than 3.11")
class Release(InFolder):
    """tools/check-release on a copy of what it reads, with one slip each."""
    FILES = "meson.build", "meson_options.txt", "CHANGELOG.md", "pyproject.toml", "README.md"

    def setUp(self):
        super().setUp()
        self.bring("check-release")
        for name in (*self.FILES, "LICENSE"):
            shutil.copy(ROOT / name, self.folder)

    def change(self, name, pattern, replacement):
        path = self.folder / name
        text, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.M)
        self.assertEqual(count, 1)
        path.write_text(text)

    def check_said(self, *wanted):
        done = self.call("tools/check-release", env={**os.environ, "PYTHONUTF8": "1"})
        said = done.stdout.splitlines()
        self.assertEqual((said[:-1], done.returncode), ([*wanted], 1 if wanted else 0))

    def test_ours(self):
        self.check_said()

    def test_version(self):
        self.change("meson.build", r" version: '[^']*'", " version: '9.8.7'")
        self.change("CHANGELOG.md", "^## [0-9].*", "## 9.8.6")
        self.check_said("CHANGELOG.md: its newest release is 9.8.6, meson.build's version is 9.8.7")

    def test_changes_that_begin_with_a_release(self):
        self.change("CHANGELOG.md", "^## Unreleased\n", "")
        self.check_said("CHANGELOG.md: its first section is not Unreleased")

    def test_order_of_releases(self):
        with (self.folder / "CHANGELOG.md").open("a") as changes:
            changes.write("## 0.0.9\n## 0.0.10\n")
        self.check_said("CHANGELOG.md: the releases are not the newest first")

    def test_metadata(self):
        self.change("pyproject.toml", "^license = .*", 'license = "MIT"')
        self.change("pyproject.toml", "^keywords =", "keyword =")
        self.change("pyproject.toml", "^classifiers = .", r'\g<0>"License :: OSI Approved",')
        self.change("pyproject.toml", "-Dtests=", "-Dtest=")
        (self.folder / "README.md").unlink()
        self.check_said("pyproject.toml: there is no key keyword",
                        "pyproject.toml: license is MIT, meson.build has Apache-2.0",
                        "pyproject.toml: there is no README.md",
                        "pyproject.toml: a license and a classifier of one exclude each other "
                        "(PEP 639)", "pyproject.toml: meson has no option -Dtest=false")

    def test_a_second_place_for_the_version(self):
        self.change("pyproject.toml", "^dynamic = .*", 'version = "0.1.0"')
        self.check_said('pyproject.toml: the version is meson.build\'s: dynamic = ["version"]')


class Docs(InFolder):
    """tools/check-docs on a small tree, with one slip each."""

    def setUp(self):
        super().setUp()
        self.bring("check-docs", "list-files")
        # As many messages as the tool must find at least.
        calls = "".join(f'err_set(err, -EINVAL, "message {i} of %d: %s", n, why);\n'
                        for i in range(100))
        self.write("cli/a.c", calls)
        self.write("docs/README.md", "[one](one.md) [more](troubleshooting.md)\n")
        self.write("docs/one.md", "See `cli/a.c` and [more](troubleshooting.md#the-first).\n")
        self.messages = "".join(f"| `message {i} of 7: REASON` |\n" for i in range(100))
        self.write("docs/troubleshooting.md", f"## The first\n\n{self.messages}")

    def check_said(self, *wanted):
        done = self.call("tools/check-docs")
        said = done.stdout.split("\n")[:-2]
        self.assertEqual((said, done.returncode), ([*wanted], 1 if wanted else 0))

    def test_sound(self):
        self.check_said()

    def test_a_link_and_a_heading_that_are_not_there(self):
        self.write("docs/one.md", "[a](two.md) [b](troubleshooting.md#no)\n")
        self.check_said("docs/one.md links to two.md, which is not there",
                        "docs/one.md links to troubleshooting.md#no: there is no such heading")

    def test_a_file_that_is_not_there(self):
        self.write("docs/one.md", "See `cli/b.c`.\n")
        self.check_said("docs/one.md names cli/b.c, which is not there")

    def test_a_page_that_the_index_lacks(self):
        self.write("docs/two.md")
        self.check_said("docs/README.md has docs/two.md 0 times")

    def test_a_message_that_the_page_lacks(self):
        self.write("cli/b.c", 'terminal_error("cannot open %s: give "\n    "another", path);\n')
        self.check_said("docs/troubleshooting.md lacks, of cli/b.c: cannot open",
                        "docs/troubleshooting.md lacks, of cli/b.c: : give another")

    def test_a_comment_that_names_no_page(self):
        self.write("cli/b.h", "/* docs/three.md */\n")
        self.check_said("cli/b.h names docs/three.md")


def load(name):
    """The program tools/NAME as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), f"{ROOT}/tools/{name}")
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    with unittest.mock.patch.object(sys, "dont_write_bytecode", True):
        loader.exec_module(module)
    return module


class Licences(unittest.TestCase):
    def test_licences_in_words_and_in_spdx(self):
        module = load("third-party")
        self.assertEqual(module.SPDX.keys(), module.LICENCES.keys())


class Coverage(unittest.TestCase):
    LISTED = ("wallspy:python+gate / gil@3.9.18\nwallspy:python / jit@3.14.10\n"
              "wallspy:python+gate / gil@3.14.10\nwallspy:cli / usage\n")

    def test_its_suites_are_those_of_tests(self):
        texts = [path.read_text() for path in (ROOT / "tests").glob("*/meson.build")]
        for suite in load("coverage").SUITES:
            self.assertTrue(any(f"'{suite}'" in text for text in texts), suite)

    def test_the_tests_on_the_newest_python(self):
        module = load("coverage")
        with unittest.mock.patch.object(module.subprocess, "run") as run:
            run.return_value.stdout = self.LISTED
            self.assertEqual(module.which("python"), ["jit@3.14.10", "gil@3.14.10"])


class Logs(InFolder):
    def log(self, name, results):
        """A log of meson's of tests, each a result, or a result and its output."""
        lines = []
        for test, result in results.items():
            result, output = result if isinstance(result, tuple) else (result, "")
            lines.append(json.dumps({"name": f"wallspy:{test}", "result": result,
                                     "stderr": output}))
        return self.write(name, "".join(f"{line}\n" for line in lines))


class Summary(Logs):
    ALLOWED = "python / namespaces@*  # why\ncli / errors: test_kernel_thread\n"

    def summary(self, *args, ci=False):
        environment = {**os.environ, "CI": "true" if ci else ""}
        done = subprocess.run([ROOT / "tools/test-summary", *args], capture_output=True, text=True,
                              check=False, env=environment)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def test_the_end_of_a_failures_output(self):
        log = self.log("log", {"cli / usage": ("FAIL", "".join(f"line {i}\n" for i in range(40)))})
        code, lines = self.summary(log, self.write("allowed"))
        self.assertEqual((code, lines[0], len(lines)), (1, "failed: cli / usage: fail", 27))
        self.assertEqual(lines[25], "    line 39")

    def test_skips_are_named(self):
        allowed = self.write("allowed", self.ALLOWED)
        for name, note in ("namespaces@3.11", ""), ("walk@3.11", "  (not in allowed-skips)"):
            log = self.log("log",
                           {"unit / hash": "OK", f"python / {name}": ("SKIP", "x\nno right to\n")})
            wanted = [f"skipped: python / {name}: no right to{note}",
                      "1 passed, 0 failed, 1 skipped"]
            self.assertEqual(self.summary(log, allowed), (0, wanted))
            self.assertEqual(self.summary(log, allowed, ci=True), (1 if note else 0, wanted))

    def test_skipped_parts_are_named(self):
        """As unittest prints them."""
        output = ("test_itself (__main__.Errors.test_itself) ... ok\n"
                  "test_kernel_thread (__main__.Errors.test_kernel_thread)\n"
                  "Of the first lines. ... skipped 'none here'\n")
        allowed = self.write("allowed", self.ALLOWED)
        log = self.log("log", {"cli / errors": ("OK", output)})
        wanted = ["skipped: cli / errors: test_kernel_thread: none here",
                  "1 passed, 0 failed, 0 skipped"]
        self.assertEqual(self.summary(log, allowed, ci=True), (0, wanted))
        part = "# SKIP under_sudo: only root may\n"
        log = self.log("log", {"unit / output": ("OK", "ok\n" + part + part)})
        self.assertEqual(self.summary(log, self.write("some", "unit / output: under_*"),
                                      ci=True)[1][0],
                         "skipped: unit / output: under_sudo: only root may")
        other = "  test_x (__main__.A.test_x) (i=1) ... skipped \"it's new\"\n"
        log = self.log("log", {"cli / errors": ("OK", other)})
        wanted[0] = "skipped: cli / errors: test_x: it's new  (not in allowed-skips)"
        self.assertEqual(self.summary(log, allowed, ci=True), (1, wanted))

    def test_what_is_known_to_be_wrong_may_be_skipped(self):
        why = "WRONG not in its words: fork\nskipped: known to be wrong: A5: no word of fork"
        log = self.log("log", {"unit / hash": "OK", "situations_all / fork": ("SKIP", why)})
        self.assertEqual(self.summary(log, self.write("allowed"), ci=True),
                         (0, ["skipped: situations_all / fork: known to be wrong: A5: no word of "
                              "fork", "1 passed, 0 failed, 1 skipped"]))

    def unmeasured(self, gate, others, used, measured=9):
        """Of so many of the gate and others of accuracy, beside MEASURED that say USED."""
        why = (f"others used {used} of 2 CPUs\n"
               "skipped: not measurable here: others used 1.3 of 2 CPUs")
        names = [f"accuracy+gate / g{i}" for i in range(gate)]
        names += [f"accuracy / a{i}" for i in range(others)]
        results = {name: ("SKIP", f"{why}\n") for name in names}
        results.update((f"accuracy+gate / m{i}", ("OK", f"others used {used} of 2 CPUs\n"))
                       for i in range(measured))
        return self.summary(self.log("log", results), self.write("allowed"), ci=True)

    def test_what_was_not_measurable_on_a_quiet_machine(self):
        code, lines = self.unmeasured(1, 2, "0.1")
        self.assertEqual(code, 0)
        self.assertEqual(lines[0],
                         "skipped: accuracy / g0: not measurable here: others used 1.3 of 2 CPUs")
        self.assertEqual(lines[3:], ["3 not measurable, 1 of the gate: the machine was quiet, as a "
                                     "rule (others used 5% of its CPUs)",
                                     "9 passed, 0 failed, 3 skipped"])
        for gate, others in (2, 0), (1, 3), (0, 4):
            code, lines = self.unmeasured(gate, others, "0.1")
            self.assertEqual(code, 1)
            self.assertIn("Of the gate 1 may be so, in all 3: run them again.", lines)

    def test_what_was_not_measurable_on_a_busy_machine(self):
        code, lines = self.unmeasured(5, 9, "1.3")
        self.assertEqual(code, 0)
        self.assertIn("14 not measurable, 5 of the gate: the machine was busy (others used 65% of "
                      "its CPUs)", lines)
        self.assertEqual(self.unmeasured(2, 0, "1.3", measured=0)[0], 1, "none passed")

    def test_tests_of_the_gate_have_their_suites_name(self):
        log = self.log("log", {"cli+gate / usage": "FAIL", "cli / errors": "OK"})
        self.assertEqual(self.summary(log, self.write("allowed"))[1],
                         ["failed: cli / usage: fail", "1 passed, 1 failed, 0 skipped"])

    def test_nothing_ran(self):
        self.assertEqual(self.summary(self.log("log", {}), self.write("allowed")),
                         (1, ["0 passed, 0 failed, 0 skipped"]))


class Packages(InFolder):
    """need_packages, with stand-ins for Debian's tools: dpkg-query knows gcc alone."""
    TOOLS = {
        "dpkg-query": '[ "$4" != gcc ] || echo "install ok installed"',
        "apt-get": 'echo "$*" >>"$CALLS"',
        "sudo": '"$@"',
        "id": 'echo "$USER_ID"',
    }
    INSTALLED = ["update -qq", "install -y -q --no-install-recommends "
                               "-o DPkg::Lock::Timeout=300 meson"]

    def need(self, packages, assume="no", user=0, without=(), **how):
        for name, script in self.TOOLS.items():
            if name not in without:
                self.write(f"bin/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)
        for name in "sh", "env", "grep", "echo":
            os.symlink(shutil.which(name), self.folder / "bin" / name)
        environment = {"PATH": str(self.folder / "bin"), "CALLS": str(self.folder / "calls"),
                       "USER_ID": str(user)}
        line = ["/bin/sh", "-c", f". {ROOT}/tools/packages.sh; need_packages {assume} {packages}"]
        done = subprocess.run(line, env=environment, text=True, check=False, **{
            "stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **how})
        self.assertFalse(done.stdout)
        calls = self.folder / "calls"
        called = calls.read_text().splitlines() if calls.exists() else []
        return done.returncode, done.stderr, called

    def test_nothing_to_do(self):
        self.assertEqual(self.need("gcc sh-package=sh"), (0, "", []))

    def test_no_terminal(self):
        self.assertEqual(self.need("gcc meson"), (
            0, "Missing packages: meson\nInstalling them with apt-get.\n", self.INSTALLED))

    def test_user_with_sudo(self):
        _, text, calls = self.need("meson", user=1000)
        self.assertIn("Installing them with sudo apt-get.", text)
        self.assertEqual(calls, self.INSTALLED)

    def test_user_without_sudo(self):
        code, text, calls = self.need("meson", user=1000, without=["sudo"])
        self.assertEqual((code, calls), (1, []))
        self.assertIn("Have root run: apt-get install --no-install-recommends meson\n", text)

    def test_no_debian(self):
        self.assertEqual(self.need("gcc meson", without=["apt-get", "dpkg-query"]),
                         (0, "No apt-get here.  What is needed, by Debian's names: gcc meson\n",
                          []))

    def asked(self, answer):
        ours, theirs = pty.openpty()
        os.write(ours, answer.encode())
        try:
            code, _, calls = self.need("meson", stdin=theirs, stderr=theirs)
            text = b""  # what the terminal echoed, and what was asked, come one by one
            while select.select([ours], [], [], 0.2)[0]:
                text += os.read(ours, 4096)
            return code, text.decode(), calls
        finally:
            os.close(ours)
            os.close(theirs)

    def test_asked_yes(self):
        code, text, calls = self.asked("\n")
        self.assertIn("Install them with apt-get? [Y/n] ", text)
        self.assertEqual((code, calls), (0, self.INSTALLED))

    def test_asked_no(self):
        self.assertEqual(self.asked("n\n")[::2], (1, []))


class Test(Logs):
    """tools/test, with a stand-in for meson, whose tests end as the log says that it finds."""
    TOOLS = {
        "dpkg-query": 'echo "install ok installed"',
        "ninja": ":",
        "meson": 'echo "$*" >>calls; [ "$1" = test ] || exit 0; mkdir -p build-test/meson-logs; '
                 'mv log build-test/meson-logs/testlog.json; ! grep -q FAIL '
                 'build-test/meson-logs/testlog.json',
    }
    RUN = "test -C build-test --no-rebuild --print-errorlogs -t 2"
    JOBS = f"--num-processes {len(os.sched_getaffinity(0)) + 1}"
    SUITES = "--suite lint --suite unit --suite fuzz"
    TOLD = (r"s\.  tools/test --all was last green an unknown number of commits ago, on 2026-01-02 "
            r"\(7 passed\)\.$")

    def run_tests(self, *args, results=None, torture="exit 0"):
        self.bring("packages.sh", "test", "test-summary", "last-green")
        self.write("tools/get-new-python", "#!/bin/sh\nexit 1\n").chmod(0o755)
        script = f"#!/bin/sh\necho torture $* >>calls\n{torture}\n"
        self.write("tools/torture", script).chmod(0o755)
        self.write("tests/allowed-skips")
        self.write("tests/last-all", "0123abc 2026-01-02 7 passed\n")
        self.write("calls")
        for name, script in self.TOOLS.items():
            self.write(f"bin/{name}", f"#!/bin/sh\n{script}\n").chmod(0o755)
        self.log("log", results or {"unit / hash": "OK"})
        done = self.call("tools/test", *args,
                         env={**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        calls = (self.folder / "calls").read_text().splitlines()
        (self.folder / "calls").unlink()
        return done.returncode, done.stdout.splitlines(), [
            line for line in calls if not line.startswith("setup")]

    def test_the_gate(self):
        code, said, calls = self.run_tests("-y")
        self.assertEqual((code, said[-2], calls),
                         (0, "1 passed, 0 failed, 0 skipped",
                          [f"{self.RUN} {self.JOBS} {self.SUITES} --suite gate"]))
        self.assertRegex(said[-1], r"^gate: \d+ " + self.TOLD)

    def test_quick(self):
        code, said, calls = self.run_tests("-y", "--quick", "--verbose")
        self.assertEqual((code, calls), (0, [f"{self.RUN} {self.JOBS} {self.SUITES} "
                                             "--no-suite slow --verbose"]))
        self.assertRegex(said[-1], r"^quick: \d+ " + self.TOLD)

    def test_some(self):
        self.assertEqual(self.run_tests("--suite", "cli"),
                         (0, ["1 passed, 0 failed, 0 skipped"], [f"{self.RUN} --suite cli"]))

    def test_all(self):
        code, _, calls = self.run_tests("--all")
        self.assertEqual((code, calls), (0, [f"{self.RUN} --no-suite tidy_changed",
                                             "torture -m 3 -b build-test"]))
        code, _, _ = self.run_tests("--all", torture="exit 1")
        self.assertEqual(code, 1)

    def test_a_failure(self):
        code, said, _ = self.run_tests(results={"native / signals": "FAIL", "unit / hash": "OK"})
        self.assertEqual((code, said[-2]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_another_program(self):
        program = self.write("a wallspy")
        program.chmod(0o755)
        code, _, calls = self.run_tests("--exe", program, "hash")
        self.assertEqual((code, calls),
                         (0, [f"configure build-test -Dexe={program}", f"{self.RUN} hash"]))

    def test_our_own_after_another(self):
        self.write("build-test/exe", "another\n")
        code, _, calls = self.run_tests("hash")
        self.assertEqual((code, calls), (0, ["configure build-test -Dexe=", f"{self.RUN} hash"]))

    def test_no_program(self):
        program = self.write("a text")
        self.assertEqual(self.run_tests("--exe", program), (2, [], []))


class LastGreen(InFolder):
    """tools/last-green, in a clone of its own."""

    def git(self, *args):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a", *args], cwd=self.folder,
                       check=True, capture_output=True)

    def test_it_counts_commits(self):
        """What another one wrote makes a tree no other commit."""
        self.bring("last-green")
        self.write("tests/last-all")
        self.write("a file")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "one")
        self.assertIn("Commit tests/last-tidy",
                      self.call("tools/last-green", "tidy", "write", "of 9 files").stdout)
        self.assertIn("Commit tests/last-all",
                      self.call("tools/last-green", "all", "write", "7 passed").stdout)
        self.write("a file", "changed")
        self.assertIn("this tree is no commit",
                      self.call("tools/last-green", "all", "write", "8 passed").stderr)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "two")
        self.assertRegex(self.call("tools/last-green", "all").stdout,
                         r"^tools/test --all was last green 1 commits ago, on 20\d\d-\d\d-\d\d "
                         r"\(7 passed\)\.$")
        self.assertRegex(self.call("tools/last-green", "tidy").stdout,
                         r"^tools/check-tidy was last green 1 commits ago, .* \(of 9 files\)\.$")
        self.assertRegex(self.call("tools/last-green", "tidy", "commit").stdout,
                         "^[0-9a-f]{40}\n$")


@unittest.skipUnless(shutil.which("dpkg"), "no Debian")
class ThirdParty(InFolder):
    LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
    ARCHIVE_MAP = "{0}/{1}(one.o)\n    {0}/libelf.a(x.o) (f)\n{0}/{1}(two.o)\n    (g)\n"
    MAP = ("Archive member included to satisfy reference by file (symbol)\n\n{}"
           "\nDiscarded input sections\n\n .text {}/liblzma.a(unused.o)\nLOAD {}/crti.o\n")

    def said(self, archive):
        archives = self.ARCHIVE_MAP.format(self.LIBRARIES, archive)
        link_map = self.write("map", self.MAP.format(archives, self.LIBRARIES, self.LIBRARIES))
        done = subprocess.run([ROOT / "tools/third-party", link_map], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_what_is_linked_in_is_named(self):
        code, text, _ = self.said("libz.a")
        self.assertEqual(code, 0)
        version = subprocess.check_output(
            ["dpkg-query", "-W", "-f", "${source:Version}", "zlib1g-dev"], text=True)
        self.assertIn(f"\nzlib {version}\n  Zlib: libz\n  libz.a (2 parts)\n"
                      f"  https://snapshot.debian.org/package/zlib/{version}/\n", text)
        self.assertRegex(text, r"\nglibc \S+\n  LGPL.*\n  crti\.o\n")
        self.assertNotIn("xz-utils", text)  # no part of it is used
        self.assertIn("\nLGPL-2.1\n", text)
        self.assertIn("GNU LESSER GENERAL PUBLIC LICENSE", text)

    def test_what_nobody_has_read_is_refused(self):
        code, text, error = self.said("libcheck.a")
        self.assertEqual((code, text), (1, ""))
        self.assertIn("third-party: check is linked in, and its licence is not known", error)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
