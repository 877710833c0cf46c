"""Connections of equal addresses in several network namespaces, as containers have them: `wallspy
report` takes none for another.

usage: networks.py WALLSPY [unittest's arguments]
"""
import contextlib
import json
import os
import pathlib
import shutil
import sys
import unittest

from support.cases import FolderTest
from support.outcome import main
from support.processes import wait_for_rest
from support.programs import IS_ROOT, programs
from support.targets import Target
from support.unharmed import assert_not_held
from support.wallspy import call, succeed

PEER = pathlib.Path(__file__).with_name("peer.py")
WORKS = IS_ROOT and shutil.which("ip") and call(
    ["unshare", "-n", *"ip link add veth0 type veth peer name veth1".split()]).code == 0


def inside(network, *command):
    """The words that run COMMAND in the namespace that NETWORK holds."""
    return ["nsenter", "-t", network.pid, "-n", *command]


@unittest.skipUnless(WORKS, "other network namespaces take root, and ip(8)")
class Networks(FolderTest):
    def setUp(self):
        super().setUp()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.targets = []

    def network(self):
        return self.stack.enter_context(Target(
            ["unshare", "-n", "sh", "-c", "ip link set lo up && echo ready && exec cat"], "ready",
            gently=True))

    def connected(self):
        """Two namespaces, 10.0.0.1 and 10.0.0.2."""
        ends = self.network(), self.network()
        succeed(inside(ends[0], *"ip link add veth0 type veth peer name veth0".split(), "netns",
                       ends[1].pid))
        for i, end in enumerate(ends):
            for words in (f"addr add 10.0.0.{i + 1}/24 dev veth0", "link set veth0 up"):
                succeed(inside(end, "ip", *words.split()))
        return ends

    def rank(self, network, *what):
        rank = len(self.targets)
        self.targets.append(self.stack.enter_context(Target(
            inside(network, sys.executable, PEER, *what), "ready",
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "4"})))

    def nexts(self):
        """Of each rank: for which one it waits."""
        for target in self.targets:
            wait_for_rest(target.pid)
            dump = succeed([programs["wallspy"], "dump", "--json", "--now", "-p", target.pid])
            pathlib.Path(f"{target.pid}.json").write_text(dump.stdout, encoding="utf-8")
            assert_not_held(target.pid)
        said = json.loads(succeed([programs["wallspy"], "report", "--json", "."]).stdout)
        return {m["rank"]: m["waits_for"]["rank"] for c in said["classes"] for m in c["members"]
                if m["waits_for"]}

    def test_loopback_in_two(self):
        for network in self.network(), self.network():
            self.rank(network, "serve")
            self.rank(network, "ask", "127.0.0.1")
        self.assertEqual(self.nexts(), {1: 0, 3: 2})

    def test_from_one_to_another(self):
        here, there = self.connected()
        self.rank(here, "serve")
        self.rank(there, "ask", "10.0.0.1")
        self.assertEqual(self.nexts(), {1: 0})

    def test_two_pairs_of_the_same_addresses(self):
        """Each waits for one of two, and nothing tells for which."""
        for _ in range(2):
            here, there = self.connected()
            self.rank(here, "serve")
            self.rank(there, "ask", "10.0.0.1")
        self.assertEqual(self.nexts(), {})


if __name__ == "__main__":
    main(__doc__, "wallspy")
