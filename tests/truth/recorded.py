"""What a speedscope file of wallspy says, as the tests ask for it."""
import collections
import json
import pathlib
import subprocess
import tempfile


class Line:
    """One thread's time line: (seconds, names of the frames, root first), in order."""

    def __init__(self, frames, profile):
        self.name = profile["name"]
        scale = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3,
                 "none": 1}[profile["unit"]]
        self.samples = [(weight * scale, [frames[i]["name"] for i in stack],
                         [frames[i] for i in stack])
                        for stack, weight in zip(profile["samples"], profile["weights"])]

    def seconds(self, wanted):
        """The time of all samples whose list of names WANTED agrees to."""
        return sum(weight for weight, names, _ in self.samples if wanted(names))

    def seconds_in(self, function):
        return self.seconds(lambda names: function in names)

    def missed(self, functions):
        """Time that wallspy says it knows nothing of, from the first sample in one of FUNCTIONS to
        the last."""
        inside = [bool(functions.intersection(names)) for _, names, _ in self.samples]
        first, last = inside.index(True), len(inside) - inside[::-1].index(True)
        return sum(weight for weight, names, _ in self.samples[first:last] if not names)


class Recording:
    def __init__(self, path):
        self.document = document = json.loads(pathlib.Path(path).read_text())
        self.facts = document["wallspy"]
        frames = document["shared"]["frames"]
        self.lines = [Line(frames, p) for p in document["profiles"]]

    def line(self, thread):
        """The wall time line of the thread whose name is or begins with THREAD."""
        found = [line for line in self.lines if line.name.startswith(thread) and
                 line.name.endswith("| wall")]
        assert len(found) == 1, f"{thread}: {[line.name for line in self.lines]}"
        return found[0]

    def thread_facts(self, name):
        return [t for t in self.facts["threads"] if t["name"] == name]

    @property
    def interval_s(self):
        """Between ticks, as it really was."""
        return 1 / self.facts["rate_hz"]


Run = collections.namedtuple("Run", "recording stdout stderr")
# The rate stays as it is: on a busy machine wallspy is itself taken off the CPU while it holds a
# thread.
OPTIONS = ["--max-overhead", "100"]


def record(wallspy, options, command):
    """Launches COMMAND under wallspy to its end; asserts that both went well."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "out.json")
        done = subprocess.run([wallspy, *OPTIONS, *options, "-o", output, "--", *command],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return Run(Recording(output), done.stdout, done.stderr)


def record_attached(wallspy, options, command):
    """Starts COMMAND, attaches once it has printed a line, and records to its end."""
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(command, stdout=subprocess.PIPE,
                                                                   text=True) as target:
        output = pathlib.Path(folder, "out.json")
        first = target.stdout.readline()
        done = subprocess.run([wallspy, *OPTIONS, *options, "-o", output, "-p", str(target.pid)],
                              capture_output=True, text=True, timeout=60, check=False)
        rest, _ = target.communicate()
        assert done.returncode == 0, done.stderr
        assert target.returncode == 0, rest
        return Run(Recording(output), first + rest, done.stderr)
