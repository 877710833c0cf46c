"""Kinds of unittest's cases."""
import contextlib
import os
import random
import tempfile
import unittest

from .chance import SEED
from .measure import Others, excuse_or_raise
from .outcome import Skipped
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
        self.others = Others().__enter__()
        self.excuse = None

    def tearDown(self):
        if self.excuse:
            self.skipTest(str(self.excuse))

    assert_unharmed = staticmethod(assert_unharmed)

    @contextlib.contextmanager
    def measurable(self):
        """What fails in the block is a matter of how much wallspy could see, never of harm: where
        others took the CPUs since the test began, the test goes on, and is a skip in the end."""
        try:
            yield
        except AssertionError as error:
            self.others.__exit__()
            try:
                excuse_or_raise(self.others, failure=error)
            except Skipped as reason:
                self.excuse = reason

    def assert_seen(self, recording, name, seconds):
        """NAME was in stacks for more than SECONDS.  If not, says what there was instead."""
        with self.measurable():
            self.assertGreater(recording.seconds(name), seconds, f"{name}\n{recording}")
