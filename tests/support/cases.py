"""Kinds of unittest's cases."""
import os
import random
import tempfile
import unittest

from .chance import SEED
from .processes import stolen_s
from .unharmed import assert_unharmed


class FolderTest(unittest.TestCase):
    """Each test in a folder of its own, where the files land, and that every user may write to."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o777)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)


class HarmTest(unittest.TestCase):
    """Tests whose chance is that of SEED, each as if it were the only one."""

    def setUp(self):
        random.seed(SEED)
        self.stolen_before_s = stolen_s()

    assert_unharmed = staticmethod(assert_unharmed)

    def assert_seen(self, recording, name, seconds):
        """NAME was in stacks for more than SECONDS.  If not, says what there was instead."""
        seen = recording.seconds(name)
        self.assertGreater(seen, seconds,
                           f"{name}; CPUs were stolen for {stolen_s() - self.stolen_before_s:.2f} "
                           f"s\n{recording}")
