"""dump --locals: the arguments of functions in progress, and no secret.  Runs on 3.6 and later.

usage: locals.py WALLSPY (without it: the target)"""

import json
import os
import re
import sys

from support.processes import wait_for_rest
from support.targets import Target
from support.wallspy import dump_text

SECRETS = ("hunter2", "swordfish")
FIRST, SECOND = SECRETS  # lines of source are shown as they are


class Mine:
    """Its repr() must never run."""

    def __repr__(self):
        raise SystemExit("called")


class int_(int):
    pass


int_.__name__ = "int"  # a liar


def numbers(zero, one, negative, large, huge, real, yes, no, nothing):
    texts("", "plain", "caf\xe9 \u2603", "x" * 1000, b"", b"a\0b\xff", "a\x1b[2J\nb")


def texts(empty, plain, wide, long, no_bytes, some_bytes, order):
    holders([1, 2], (), {"a": 1}, {1, 2, 3}, frozenset(), Mine(), int_(7), 3)


def holders(items, nothing, table, group, frozen, mine, liar, captured):
    def inner():
        return captured
    secrets(FIRST, FIRST, db_password=FIRST, url="postgres://u:%s@host/x" % SECOND,
            line="--token " + SECOND, long_url="http://" + "s" * 300 + SECOND)
    return inner


def secrets(token, api_key, *rest, db_password, url, line, long_url, **more):
    deleted(1, 2)


def deleted(gone, there):
    del gone
    many(*range(20))


def many(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t):
    list(generator(5))


def generator(start):
    for _ in range(start):
        yield wait("end")


def wait(argument):
    print("ready", flush=True)
    sys.stdin.read()


def expected():
    captured = sys.version_info >= (3, 11)  # before, what inner functions use is elsewhere
    return {
        "numbers": "zero=0, one=1, negative=-5, large=1000000000000, "
                   "huge=int of up to 420 bits, real=2.5, yes=True, no=False, nothing=None",
        "texts": "empty='', plain='plain', wide='caf\xe9 \u2603', long='%s\u2026', no_bytes=b'', "
                 "some_bytes=b'a\\x00b\\xff', order='a?[2J?b'" % ("x" * 37),
        "holders": "items=list of 2, nothing=tuple of 0, table=dict of 1, group=set of 3, "
                   "frozen=frozenset of 0, mine=<Mine>, liar=<int>" + ", captured=3" * captured,
        "secrets": "token=***, api_key=***, db_password=***, url='postgres://***@host/x', "
                   "line='--token ***', long_url='http://\u2026', rest=tuple of 0, more=dict of 0",
        "deleted": "there=2",
        "many": ", ".join("%s=%d" % (chr(97 + i), i) for i in range(16)) + ", \u2026",
        "generator": "start=5",
        "wait": "argument='end'",
    }


def dump(pid, *options):
    out = dump_text(sys.argv[1], pid, *options)
    assert not any(secret in out for secret in SECRETS), out
    return out


def main():
    with Target([sys.executable, os.path.abspath(__file__)], "ready", gently=True) as target:
        wait_for_rest(target.pid)
        shown = json.loads(dump(target.pid, "--locals", "--json"))
        text = dump(target.pid, "--locals")
        without = dump(target.pid, "--json")
    assert target.process.returncode == 0
    frames = [f for t in shown["processes"][0]["threads"] for f in t["frames"]
              if f["kind"] == "python"]
    got = {f["name"].split(".")[-1]: f["arguments"] for f in frames if "arguments" in f}
    wrong = [(name, got.get(name), wanted) for name, wanted in expected().items()
             if got.get(name) != wanted]
    assert not wrong, wrong
    assert re.search(r"\n    wait +locals\.py:\d+   sys\.stdin\.read\(\)\n      argument='end'\n",
                     text), text
    assert all(len(line) <= 79 for line in text.splitlines()), text
    assert '"arguments"' not in without


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main()
    else:
        numbers(0, 1, -5, 10 ** 12, 1 << 400, 2.5, True, False, None)
