"""Installed, does wallspy show Python and C++ of the demo, in a profile and in a dump?"""
import json

# The demo trains long enough for both; wallspy meets it when it does.
SCRIPT = """
{program} --version
{program} standby -- python3 /opt/demo/train.py --seconds 20 &
train=$!
sleep 1
{program} -p $train -d 3 -o profile.json
{program} dump -p $train --json >dump.json
kill $train
"""


def profile_stacks(profile):
    """{name of a profile: {stack of (name, file)}}, roots first."""
    frames = [(frame["name"], frame.get("file", "")) for frame in profile["shared"]["frames"]]
    return {part["name"]: {tuple(frames[ix] for ix in stack) for stack in part["samples"]}
            for part in profile["profiles"]}


def holds(stacks, thread, *wanted):
    """Has a profile of THREAD a stack with frames of these ends of (name, file), in this order?"""
    for name, own in stacks.items():
        if name.split(" ")[0] != thread:
            continue
        for stack in own:
            rest = iter(stack)
            if all(any(frame[0].endswith(end) and frame[1].endswith(file) for frame in rest)
                   for end, file in wanted):
                return True
    return False


def profile_faults(text):
    """What the profile TEXT lacks, in words; empty if nothing."""
    stacks = profile_stacks(json.loads(text))
    wanted = {
        "Python and C++ on one stack": ("main", ("numpy_of", "train.py"),
                                        ("mge::Worker::sync", "worker.cc")),
        "a C++ thread": ("mge-worker", ("TopK::exec", "ops.cc"),
                         ("cudaGetDeviceProperties", "cudart.c")),
        "a C thread": ("cuda-device", ("device_main", "cudart.c")),
    }
    return [f"the profile lacks {what}" for what, place in wanted.items()
            if not holds(stacks, *place)]


def dump_faults(text):
    """What the dump TEXT (--json) lacks, in words; empty if nothing."""
    seen = {(thread["name"], frame.get("file", "").rsplit("/", 1)[-1])
            for process in json.loads(text)["processes"] for thread in process["threads"]
            for frame in thread["frames"]}
    files = {file for _, file in seen}
    wanted = {"Python": "train.py" in files, "C++": ("mge-worker", "worker.cc") in seen,
              "C": ("cuda-device", "cudart.c") in seen}
    return [f"the dump lacks {what}" for what, there in wanted.items() if not there]


def faults(box, who, program, home):
    """Runs PROGRAM in BOX as WHO on the demo.  Returns what is wrong, in words."""
    box.run(SCRIPT.format(program=program), who)
    folder = box.root / home.lstrip("/")
    return (profile_faults((folder / "profile.json").read_text()) +
            dump_faults((folder / "dump.json").read_text()))
