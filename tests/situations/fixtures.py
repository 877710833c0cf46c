"""The fixtures: what the programs of the situations were recorded as, each with the truth that its
program told."""
import gzip
import json
import os
import pathlib
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE / "fixtures"


def names():
    return sorted(path.name[:-len(".gz")] for path in FOLDER.glob("*.gz"))


def path_of(name):
    return FOLDER / (name + ".gz")


def read_note(path):
    """What is said of a fixture beside its rows."""
    with gzip.open(path, "rt", errors="surrogateescape") as rows:
        for row in rows:
            if row.startswith("note "):
                return json.loads(row[len("note "):])
    return {}


def judge(program, paths):
    """What wallspy says of the fixtures at PATHS, by the name of each file."""
    ran = subprocess.run([str(program), *map(str, paths)], stdout=subprocess.PIPE, check=False)
    assert ran.returncode in (0, 1), f"{program} ended with {ran.returncode}"
    return {row["fixture"]: row for row in json.loads(ran.stdout)}


# ---- recording ----

def strip_machine(text, places):
    """TEXT without the names of this machine: PLACES are pairs, a text and what stands for it."""
    for place, name in sorted(places, key=lambda pair: -len(pair[0])):
        text = text.replace(place, name)
    text = re.sub(r"(/tmp/situation/(?:data-|tmp))\w{8}", r"\1x", text)  # names by chance
    # A compiler's cache may bring the debug information of another checkout.
    text = re.sub(r'"/[^" ]*/(?=(?:tests/situations/programs|demo)/)', '"/src/', text)
    text = re.sub(r'(?m)^(text key="kernel" text="[0-9.]*)[^"]*', r"\1", text)
    text = re.sub(r"(?m)^(process .*) cpu_limits\.policy=\d+", r"\1", text)  # run_before_others()
    return re.sub(r'(?m)^(text key="host" text=")[^"]*', r"\1host", text)


def prefixes_of(python):
    """Where PYTHON lies, and the one that it was made of, if it is a virtual environment."""
    print_them = "import sys; print(sys.prefix, sys.base_prefix, sep='\\n')"
    ran = subprocess.run([python, "-c", print_them], stdout=subprocess.PIPE, text=True, check=True)
    return ran.stdout.split("\n")[:2]


def places_of(build, folder, python):
    here = str(HERE.parent.parent)
    prefixes = prefixes_of(python)
    pythons = {*prefixes, *map(os.path.realpath, prefixes)} - {"/usr"}
    return [(str(build), "/src/build"), (here, "/src"), (str(folder), "/tmp/situation"),
            *((prefix, "/usr") for prefix in pythons)]


def cpu_wait(text):
    """For how much of the recording a thread was able to run, and on no CPU: the most of all
    threads."""
    length = int(re.search(r"(?m)^end ns=(\d+)", text).group(1))
    waits = re.findall(r"(?m)^thread .* runqueue_ns=(\d+)", text)
    return max(map(int, waits), default=0) / length


def same_answer(one, other):
    return [(f["rule"], f["figures"]) for f in one] == [(f["rule"], f["figures"]) for f in other]


def keep(recorded, name, answer, judge_program, places):
    """Makes the fixture NAME of the file RECORDED, which must say again what ANSWER said."""
    said = judge(judge_program, [recorded])[recorded.name]
    assert "error" not in said, said["error"]
    assert not said["differs"], f"it does not come back as it was: {said['differs']}"
    assert same_answer(said["findings"], answer.findings), f"it says {said['findings']}"
    text = gzip.decompress(recorded.read_bytes()).decode(errors="surrogateescape")
    first, rest = strip_machine(text, places).split("\n", 1)
    note = json.dumps({"situation": name, "truth": answer.truth,
                       **({"crowded": True} if answer.crowded else {})})
    data = f"{first}\nnote {note}\n{rest}".encode(errors="surrogateescape")
    FOLDER.mkdir(exist_ok=True)
    path = path_of(name)
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    said = judge(judge_program, [path])[path.name]
    assert same_answer(said["findings"],
                       answer.findings), f"without this machine's names: {said['findings']}"
    return path
