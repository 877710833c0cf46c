"""tools/try-installs: what it takes for a profile and a dump of the demo, and what it says where it
cannot run.  The trying itself takes minutes and a network, and is no test.

usage: try_installs.py ROOT [unittest's arguments]
"""
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools"))
from installs import look, ways  # noqa: E402

FRAMES = [("<module>", "/opt/demo/train.py"), ("Trainer.numpy_of", "/opt/demo/train.py"),
          ("mge::Worker::sync", "[libmge.so] worker.cc"), ("TopK::exec", "[libmge.so] ops.cc"),
          ("cudaGetDeviceProperties", "[libcudart-demo.so] cudart.c"),
          ("device_main", "[libcudart-demo.so] cudart.c")]
STACKS = {"main 1 | wall": [0, 1, 2], "mge-worker 2 | wall": [3, 4], "cuda-device 3 | wall": [5]}
DUMP = {"python3": "/opt/demo/train.py", "mge-worker": "[libmge.so] /opt/demo/worker.cc",
        "cuda-device": "[libcudart-demo.so] /opt/demo/cudart.c"}


def dump(files):
    """A dump of threads {name: file of its frame}."""
    threads = [{"name": name, "frames": [{"name": "[x]"}, {"name": "f", "file": file}]}
               for name, file in files.items()]
    return json.dumps({"processes": [{"threads": threads}]})


def profile(stacks):
    frames = [{"name": name, "file": file} for name, file in FRAMES]
    return json.dumps({"shared": {"frames": frames},
                       "profiles": [{"name": name, "samples": [[], stack]}
                                    for name, stack in stacks.items()]})


class Look(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(look.profile_faults(profile(STACKS)), [])
        self.assertEqual(look.dump_faults(dump(DUMP)), [])

    def test_profile_without(self):
        for name, stack, fault in (("main 1 | wall", [0, 1], "Python and C++ on one stack"),
                                   ("main 1 | wall", [2, 1, 0], "Python and C++ on one stack"),
                                   ("mge-worker 2 | wall", [4], "a C++ thread"),
                                   ("cuda-device 3 | wall", [], "a C thread")):
            stacks = copy.deepcopy(STACKS)
            stacks[name] = stack
            self.assertEqual(look.profile_faults(profile(stacks)), [f"the profile lacks {fault}"])

    def test_frames_of_another_thread(self):
        stacks = dict(STACKS, **{"main 1 | wall": [0], "other 4 | wall": [0, 1, 2]})
        self.assertEqual(len(look.profile_faults(profile(stacks))), 1)

    def test_dump_without(self):
        for name, fault in (("python3", "Python"), ("mge-worker", "C++"), ("cuda-device", "C")):
            others = {other: file for other, file in DUMP.items() if other != name}
            for files in (others, dict(DUMP, **{name: "/opt/demo/x"})):
                self.assertEqual(look.dump_faults(dump(files)), [f"the dump lacks {fault}"])

    def test_dump_of_another_thread(self):
        files = {"other" if name == "mge-worker" else name: file for name, file in DUMP.items()}
        self.assertEqual(look.dump_faults(dump(files)), ["the dump lacks C++"])


class Pages(unittest.TestCase):
    def test_line_for_apt(self):
        """What is tried is what users read; it may be continued on a second line."""
        words = ways.documented_packages().split()
        self.assertIn("--no-install-recommends", words)
        self.assertTrue({"gcc", "meson", "libdw-dev", "libiberty-dev"} <= set(words), words)
        self.assertTrue(all(word.strip("\\") for word in words), words)


class Refusals(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # Another user may not see the sources.
        pathlib.Path(folder.name).chmod(0o755)
        self.tools = pathlib.Path(folder.name) / "tools"
        shutil.copytree(ROOT / "tools", self.tools)

    def call(self, *line, **how):
        return subprocess.run([self.tools / "try-installs", *line], cwd="/", capture_output=True,
                              text=True, check=False, **how)

    def test_unknown_what(self):
        done = self.call("rpm")
        self.assertEqual(done.returncode, 2)
        self.assertIn("rpm is none of static, wheel, deb, source", done.stderr)

    def test_no_root(self):
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        done = self.call("source", **(nobody if os.geteuid() == 0 else {}))
        self.assertEqual(done.returncode, 77)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("need root", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
