"""`wallspy report` of dumps that the test writes itself: who waits for whom, by connections, by
shared memory and by polls, and what must not be taken for one connection.

usage: chains.py WALLSPY [unittest's arguments]
"""
from dumps import ENTRY, dump, native, process, python, thread, waiting
from report import JobTest
from support.outcome import main

NETWORK = 4026531840


def at(name, line=9, **how):
    """A main thread that waits in the function NAME."""
    return waiting(frames=[native("wait"), python(name, line), python("<module>", 30), *ENTRY],
                   **how)


def to(remote, **more):
    """What waits for the other end at REMOTE."""
    return dict({"kind": "socket", "remote": remote}, **more)


def poll(*remotes, more=0, listens=False):
    return {"kind": "poll", "remotes": list(remotes), "more": more, "listens": listens}


def shared(inode, offset="0x0", kind="semaphore", device="0:1b", **more):
    return dict({"kind": kind, "device": device, "inode": inode, "offset": offset}, **more)


def rank(number, n, wait, ends=(), *, host="node0", boot="a", network=NETWORK, files=(), pid=None):
    """The dump of one rank that has WAIT; ENDS: local and remote ones of its connections."""
    main = at("all_reduce")
    main["waits_for"] = wait
    one = dump([process(number, [main], world=n, pid=pid, net_ns=network, connections=[
        {"local": a, "remote": b} for a, b in ends], shared=[
        {"device": "0:1b", "inode": inode} for inode in files])], host=host)
    return dict(one, boot_id=boot)


class ChainTest(JobTest):
    def nexts(self, dumps):
        """Of each rank: for which one it waits, or for any of how many, as text."""
        self.told(dumps)
        ret = {}
        for one in self.as_json["classes"]:
            for m in one["members"]:
                if m["waits_for"]:
                    ret[m["rank"]] = m["waits_for"]["rank"]
                elif m["any_of"]:
                    ret[m["rank"]] = f"any of {m['any_of']}"
        return ret


class Networks(ChainTest):
    """Equal addresses that are not one connection."""

    def pair(self, first, address, port=5000, **where):
        """Two ranks with one connection, the first of which waits for the other."""
        ends = (f"{address}:{port}", f"{address}:{port + 1}")
        return [rank(first, 8, to(ends[1]), [ends], **where),
                rank(first + 1, 8, None, [ends[::-1]], **where)]

    def test_loopback_of_two_hosts(self):
        dumps = (self.pair(0, "127.0.0.1") + self.pair(2, "127.0.0.1", host="node1", boot="b") +
                 self.pair(4, "[::1]") + self.pair(6, "[::1]", host="node1", boot="b"))
        self.assertEqual(self.nexts(dumps), {0: 1, 2: 3, 4: 5, 6: 7})

    def test_loopback_without_the_other_end(self):
        """The other host's end is no other end."""
        dumps = self.pair(0, "127.0.0.1")[:1] + self.pair(2, "127.0.0.1", host="node1",
                                                          boot="b")[1:]
        self.assertEqual(self.nexts(dumps), {})

    def test_two_namespaces_of_one_machine(self):
        dumps = self.pair(0, "10.0.0.1") + self.pair(2, "10.0.0.1", network=7)
        self.assertEqual(self.nexts(dumps), {0: 1, 2: 3})
        dumps = self.pair(0, "127.0.0.1") + self.pair(2, "127.0.0.1", network=7)
        self.assertEqual(self.nexts(dumps), {0: 1, 2: 3})

    def test_one_machine_of_two_names(self):
        dumps = self.pair(0, "127.0.0.1")
        dumps[1]["host"] = "node1"
        self.assertEqual(self.nexts(dumps), {0: 1})
        dumps[1]["boot_id"] = "b"
        self.assertEqual(self.nexts(dumps), {})
        for one in dumps:
            one["boot_id"] = None  # then the host's name counts
        self.assertEqual(self.nexts(dumps), {})
        dumps[1]["host"] = "node0"
        self.assertEqual(self.nexts(dumps), {0: 1})

    def across(self, first, networks):
        """The same between two namespaces, as of two containers."""
        ends = ("10.0.0.1:5000", "10.0.0.2:5001")
        return [rank(first, 8, to(ends[1]), [ends], network=networks[0]),
                rank(first + 1, 8, None, [ends[::-1]], network=networks[1])]

    def test_between_namespaces(self):
        self.assertEqual(self.nexts(self.across(0, (1, 2))), {0: 1})

    def test_between_namespaces_that_use_the_same_addresses(self):
        self.assertEqual(self.nexts(self.across(0, (1, 2)) + self.across(2, (3, 4))), {})
        # One who has the same end as the waiter is enough: whose is the other end?
        self.assertEqual(self.nexts(self.across(0, (1, 2)) + self.across(2, (3, 4))[:1]), {})
        self.assertEqual(self.nexts(self.across(0, (1, 2)) + self.across(2, (3, 4))[1:]), {})

    def test_somebody_of_no_dump(self):
        a, b = "10.0.0.1:5000", "10.0.0.9:443"
        self.nexts([rank(0, 3, to(b), [(a, b)])] + self.pair(1, "127.0.0.1"))
        self.assertIsNone(self.as_json["waits_end"]["outside"])
        self.nexts([rank(1, 3, to(b), [(a, b), (b, a)]), *self.pair(0, "127.0.0.1")[:1]])
        self.assertIsNone(self.as_json["waits_end"])  # it has both ends
        pair = self.pair(0, "127.0.0.1")
        pair[1]["processes"][0]["threads"][0]["waits_for"] = {"kind": "pipe", "pid": 812}
        self.assertEqual(self.nexts(pair), {0: 1})
        self.assertEqual(self.as_json["waits_end"]["outside"], "process 812")

    def test_who_shares_an_end_is_no_other_network(self):
        """A worker that inherited its rank's connections."""
        dumps = self.across(0, (1, 2))
        worker = process(1, [at("work")], pid=77, net_ns=2, inherits_rank=True,
                         connections=dumps[1]["processes"][0]["connections"])
        dumps[1]["processes"].append(worker)
        self.assertEqual(self.nexts(dumps), {0: 1})


class SharedMemory(ChainTest):
    def test_the_holder_of_a_lock(self):
        dumps = [rank(i, 4, shared("0x9", "0x40", "mutex", owner=1002) if i != 2 else None,
                      files=["0x8", "0x9"]) for i in range(4)]
        for one in dumps:
            one["processes"][0]["threads"][0]["tid"] = one["processes"][0]["pid"]
        self.assertEqual(self.nexts(dumps), {0: 2, 1: 2, 3: 2})
        self.assertIn("3 ranks wait, straight or through others, for rank 2 (node0)",
                      self.said.text)

    def test_a_holder_that_is_in_no_dump(self):
        dumps = [rank(i, 4, shared("0x9", "0x40", "mutex", owner=99), files=["0x9"])
                 for i in range(4)]
        self.assertEqual(self.nexts(dumps), {})

    def test_who_has_not_come_to_a_barrier(self):
        dumps = [rank(i, 4, shared("0x9" if i != 3 else "0xa"), files=["0x9", "0xa"])
                 for i in range(4)]
        self.assertEqual(self.nexts(dumps), {0: 3, 1: 3, 2: 3, 3: "any of 3"})

    def test_of_several_that_could_post(self):
        dumps = [rank(i, 6, shared("0x9") if i < 3 else None, files=["0x9"]) for i in range(6)]
        self.assertEqual(self.nexts(dumps), {i: "any of 3" for i in range(3)})
        self.assertIn("waits for a semaphore, for any of 3 others\n",
                      self.expect(".", dumps[:3] + [
                          dict(one, processes=[dict(one["processes"][0], threads=[at("other")])])
                          for one in dumps[3:]]).text)

    def test_who_does_not_have_it_mapped(self):
        dumps = [rank(i, 4, shared("0x9") if i < 2 else None, files=["0x9"] if i < 3 else [])
                 for i in range(4)]
        self.assertEqual(self.nexts(dumps), {0: 2, 1: 2})

    def test_the_same_inode_elsewhere(self):
        def one(i, **where):
            return rank(i, 6, shared("0x9") if i % 3 else None, files=["0x9"], **where)
        dumps = [one(i) if i < 3 else one(i, host="node1", boot="b") for i in range(6)]
        self.assertEqual(self.nexts(dumps), {1: 0, 2: 0, 4: 3, 5: 3})
        other = [rank(0, 2, shared("0x9", device="0:2c")), rank(1, 2, None, files=["0x9"])]
        self.assertEqual(self.nexts(other), {})


class Polls(ChainTest):
    def ends(self, a, b):
        return f"10.0.0.{a}:{5000 + b}", f"10.0.0.{b}:{5000 + a}"

    def star(self, n, waits, **poll_has):
        """All are connected to rank 0, which polls; WAITS: those that wait for it."""
        dumps = [rank(0, n, poll(more=n, **poll_has), [self.ends(0, i) for i in range(1, n)])]
        return dumps + [rank(i, n, to(self.ends(i, 0)[1]) if i in waits else None,
                             [self.ends(i, 0)]) for i in range(1, n)]

    def test_of_one_connection(self):
        a, b = self.ends(0, 1)
        dumps = [rank(0, 3, poll(b), [(a, b), self.ends(0, 2)]),
                 rank(1, 3, None, [(b, a)]), rank(2, 3, None, [self.ends(2, 0)])]
        self.assertEqual(self.nexts(dumps), {0: 1})

    def test_of_several(self):
        dumps = self.star(4, [])
        self.assertEqual(self.nexts(dumps), {0: "any of 3"})

    def test_those_that_wait_for_it_are_not_meant(self):
        self.assertEqual(self.nexts(self.star(8, [1, 2, 3, 5, 6, 7])),
                         {0: 4, **{i: 0 for i in (1, 2, 3, 5, 6, 7)}})
        self.assertIn("7 ranks wait, straight or through others, for rank 4 (node0)",
                      self.said.text)

    def test_all_wait_for_it(self):
        self.assertEqual(self.nexts(self.star(4, [1, 2, 3])),
                         {0: "any of 3", 1: 0, 2: 0, 3: 0})
        self.assertEqual(self.said.first, "all 4 ranks do the same: all_reduce train.py:9, in "
                                          "recvfrom of a socket")
        self.assertIn("for rank 0 (node0), which waits for any of 3",
                      " ".join(self.said.text.split()))

    def test_who_left_their_way_earlier(self):
        """Rank 0 takes what the others send, but rank 5 is elsewhere, and sent something else."""
        dumps = self.star(8, range(1, 8))
        for i, one in enumerate(dumps):
            frames = one["processes"][0]["threads"][0]["frames"]
            frames[:1] = [native("wait"), python("collect" if i == 0 else "receive", 4)]
            if i == 5:
                frames[2:3] = [python("all_reduce", 9), python("evaluate", 12)]
        self.expect("^rank 5 .*: evaluate train.py:12.*; 6 others: all_reduce", dumps)

    def test_who_listens_waits_for_anybody(self):
        self.assertEqual(self.nexts(self.star(4, [1, 2], listens=True)), {1: 0, 2: 0})

    def test_of_what_is_no_connection(self):
        self.assertEqual(self.nexts([rank(0, 2, poll(), [self.ends(0, 1)]),
                                     rank(1, 2, None, [self.ends(1, 0)])]), {})

    def test_each_polls_two(self):
        dumps = [rank(i, 6, poll(*(self.ends(i, k % 6)[1] for k in (i - 1, i + 1)))
                      if i != 2 else thread(1, [native("read")])["waits_for"],
                      [self.ends(i, k % 6) for k in (i - 1, i + 1)]) for i in range(6)]
        self.assertEqual(self.nexts(dumps), {i: "any of 2" for i in range(6) if i != 2})


class Hostile(ChainTest):
    def test_a_long_circle(self):
        n = 3000
        ends = [(f"10.0.0.1:{i}", f"10.0.0.1:{20000 + i}") for i in range(n)]
        dumps = [rank(i, n, to(ends[i][1]), [ends[i], ends[i - 1][::-1]]) for i in range(n)]
        said = self.expect("^all 3000 ranks do the same", [dump(
            [p for one in dumps for p in one["processes"]])])
        self.assertIn("wait in a circle", " ".join(said.text.split()))

    def test_very_many_of_each(self):
        n = 40000
        ends = [(f"10.0.0.1:{i}", f"10.0.0.2:{i}") for i in range(n)]
        dumps = [rank(0, 3, poll(*(b for _, b in ends)), ends),
                 rank(1, 3, None, [end[::-1] for end in ends]), rank(2, 3, None)]
        self.expect("^all 3 ranks do the same", dumps)

    def test_values_of_other_kinds(self):
        bad = [{"kind": "poll", "remotes": [1, None, {}], "more": "x", "listens": 3},
               {"kind": "poll", "remotes": 7}, {"kind": "poll", "remotes": {"a": []}},
               shared(7), shared("0x9", owner="x"), shared("", ""), shared("0x" + "9" * 999)]
        dumps = [rank(i, len(bad), wait, files=["0x9"]) for i, wait in enumerate(bad)]
        dumps[0]["boot_id"] = {"a": 1}
        dumps[1]["processes"][0].update(net_ns="x", shared=[1, {"inode": 2}], connections={"a": 1})
        self.expect("^all 7 ranks do the same", dumps)


if __name__ == "__main__":
    main(__doc__, "wallspy")
