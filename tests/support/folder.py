"""Tests in a folder of their own, where the files land."""
import os
import tempfile
import unittest


class FolderTest(unittest.TestCase):
    """Each test in a folder that every user may write to."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o777)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
