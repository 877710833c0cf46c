"""usage: recording_reports.py JUDGE WALLSPY

Reports on a recording of every fixture: --json must be as docs/report-recording-1.schema.json has
it and say what the text says, and --brief must be brief.  Of every third one --why must say
something, two parts of the time must add up to the whole, or a speedscope file must have the same
findings.  With WALLSPY_ROUNDS=gate it takes every tenth fixture.  Prints TAP.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import fixtures
from support.schema import keys, violations

DOCS = fixtures.HERE.parent.parent / "docs"
SCHEMA = json.loads((DOCS / "report-recording-1.schema.json").read_text(encoding="utf-8"))
STATES = ["wall", "run", "wait_cpu", "blocked"]
LISTS = ["processes", "threads", "functions", "waits"]
MOST = 100


class Recording:
    """Of the fixture NAME."""

    def __init__(self, tools, folder, name):
        self.wallspy, self.file = tools[1], pathlib.Path(folder, name + ".wallspy")
        subprocess.run([tools[0], "--keep", self.file, fixtures.path_of(name)], check=True)

    def report(self, *options):
        done = subprocess.run([self.wallspy, "report", *map(str, options), self.file],
                              capture_output=True, timeout=60, check=False)
        if done.returncode or done.stderr:
            raise ValueError(f"{options}: {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def document(self, *options):
        return json.loads(self.report("--json", *options))


def squeezed(text):
    return " ".join(text.split())


def wrong_with_document(document, text):
    """What is wrong with DOCUMENT of a recording whose answer is TEXT."""
    yield from violations(document, SCHEMA)
    for finding in document["findings"]:
        if squeezed(finding["words"]) not in squeezed(text):
            yield f"not in the text: {finding['words']}"
    if squeezed(document["quality"]["words"]) not in squeezed(text):
        yield f"not in the text: {document['quality']['words']}"
    for name in LISTS:
        if len(document[name]) > MOST or (document[name + "_left_out"] and
                                          len(document[name]) != MOST):
            yield f"{name}: {len(document[name])}, and {document[name + '_left_out']} left out"
    for thread in document["threads"]:
        seconds = thread["seconds"]
        if abs(sum(seconds[state] for state in STATES[1:]) - seconds["wall"]) > 1e-6:
            yield f"{thread['label']}: {seconds}"
    if not document["threads"]:
        yield "no threads"


def wrong_with_brief(text):
    lines = text.splitlines()
    if not 2 <= len(lines) <= 12:
        yield f"{len(lines)} lines"
    yield from (f"too long: {line}" for line in lines if len(line) > 79)
    if not any(line.startswith("wallspy: quality") for line in lines):
        yield "no quality"


def sums(document):
    """Of the threads with a row each: folded ones have no times, and are left out of parts."""
    ret = dict.fromkeys(STATES, 0)
    for thread in document["threads"]:
        for state in STATES:
            ret[state] += thread["seconds"][state]
    return ret


def wrong_with_parts(recording, whole, _text):
    """What is wrong with the parts of RECORDING, whose WHOLE has all of its threads."""
    middle = whole["recording"]["seconds"] * 0.4
    if middle < 0.01 or whole["threads_left_out"] or any(
            thread["threads"] > 1 for thread in whole["threads"]):
        return
    parts = [recording.document("--to", f"{middle:.9f}"),
             recording.document("--from", f"{middle:.9f}")]
    for part in parts:
        yield from violations(part, SCHEMA)
    both = [sums(part) for part in parts]
    for state, seconds in sums(whole).items():
        added = sum(one[state] for one in both)
        if abs(added - seconds) > 0.02 * sums(whole)["wall"] + 0.001:
            yield f"{state}: {seconds} s, its parts have {added} s"


def wrong_with_speedscope(recording, _document, text):
    """What is wrong with the report of a speedscope file of RECORDING, whose answer is TEXT."""
    file = recording.file.with_suffix(".json")
    subprocess.run([recording.wallspy, "export", recording.file, "-o", file], check=True,
                   stderr=subprocess.DEVNULL)
    other = copy.copy(recording)
    other.file = file
    said = other.report()
    yield from violations(other.document(), SCHEMA)
    if findings_of(said) != findings_of(text):
        yield f"a speedscope file has the findings {findings_of(said)}"
    if text.splitlines()[-1] != said.splitlines()[-1]:
        yield f"a speedscope file has the quality {said.splitlines()[-1]}"


def findings_of(text):
    return squeezed(text.partition("\n\n")[0])


def wrong_with_why(recording, document, _text):
    thread = next((one for one in document["threads"] if one["threads"] == 1), None)
    text = recording.report("--why", thread["tid"]) if thread else "lived for"
    if "lived for" not in squeezed(text) or max(map(len, text.splitlines())) > 79:
        yield f"--why: {text}"


CHECKS = [wrong_with_speedscope, wrong_with_why, wrong_with_parts]


def wrong(recording, number):
    """What is wrong with RECORDING; of the checks that take long each has every third one."""
    try:
        document, text = recording.document(), recording.report()
        yield from wrong_with_document(document, text)
        yield from wrong_with_brief(recording.report("--brief"))
        yield from CHECKS[number % len(CHECKS)](recording, document, text)
    except (ValueError, subprocess.SubprocessError) as error:
        yield str(error)


def wrong_with_schema():
    page = (DOCS / "recording.md").read_text(encoding="utf-8")
    return [f"docs/recording.md does not have {key}" for key in sorted(set(keys(SCHEMA)))
            if f"`{key}`" not in page]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    names = fixtures.names()[::10 if os.environ.get("WALLSPY_ROUNDS") == "gate" else 1]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda number, name: list(
            wrong(Recording(sys.argv[1:], folder, name), number)), range(len(names)), names)
        print(f"1..{len(names) + 1}")
        for number, (name, lines) in enumerate(zip(names, found), 1):
            print(f"{'not ' * bool(lines)}ok {number} - {name}")
            for line in lines:
                print(f"# {line}")
    lines = wrong_with_schema()
    print(f"{'not ' * bool(lines)}ok {len(names) + 1} - the page has each field")
    for line in lines:
        print(f"# {line}")


if __name__ == "__main__":
    main()
