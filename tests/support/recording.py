"""What wallspy wrote: a speedscope file, or folded stacks."""
import collections
import json
import pathlib

SECONDS = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1, "none": 1}


class Line:
    """One profile of the file, a thread's time line as a rule: (seconds, names of the frames, root
    first, the frames), in order."""

    def __init__(self, frames, profile):
        self.name = profile["name"]
        scale = SECONDS[profile["unit"]]
        self.samples = [(weight * scale, [frames[i]["name"] for i in stack],
                         [frames[i] for i in stack])
                        for stack, weight in zip(profile["samples"], profile["weights"])]

    def seconds(self, wanted=lambda names: True):
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
    """A speedscope file: .facts is what wallspy says of it, .frames the names of all functions."""

    def __init__(self, path):
        self.document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        self.facts = self.document["wallspy"]
        frames = self.document["shared"]["frames"]
        self.frames = [frame["name"] for frame in frames]
        self.lines = [Line(frames, profile) for profile in self.document["profiles"]]

    def line(self, thread):
        """The wall time line of the thread whose name is or begins with THREAD."""
        found = [line for line in self.lines if line.name.startswith(thread) and
                 line.name.endswith("| wall")]
        assert len(found) == 1, f"{thread}: {[line.name for line in self.lines]}"
        return found[0]

    def profile(self, name):
        """The one that is called exactly so."""
        return next(line for line in self.lines if line.name == name)

    def thread_facts(self, name):
        return [t for t in self.facts["threads"] if t["name"] == name]

    @property
    def interval_s(self):
        """Between ticks, as it really was."""
        return 1 / self.facts["rate_hz"]

    def walls(self):
        """The wall time lines of single threads: name → [(stack's names, seconds)]."""
        return {line.name: [(names, seconds) for seconds, names, _ in line.samples]
                for line in self.lines
                if line.name.endswith("| wall") and not line.name.startswith("ALL ")}

    def seconds(self, *names):
        """For how long any of NAMES was in a stack, over all threads' time lines."""
        return sum(seconds for rows in self.walls().values() for stack, seconds in rows
                   if any(n in frame for frame in stack for n in names))

    def total(self):
        return sum(seconds for rows in self.walls().values() for _, seconds in rows)

    def __str__(self):
        """What was seen most, and all that was counted."""
        sums = collections.Counter()
        for name, rows in self.walls().items():
            for stack, seconds in rows:
                sums[f"{name}: {';'.join(stack)}"] += seconds
        numbers = (f"{name} {n}" for name, n in self.facts.items()
                   if isinstance(n, (int, float)) and n)
        return "\n".join([*(f"{seconds:.4f} s {what}" for what, seconds in sums.most_common(20)),
                          ", ".join(numbers)])


def read_folded(path):
    """[(frames, root first, microseconds)] of a folded file."""
    with open(str(path), encoding="utf-8", errors="surrogateescape") as file:
        lines = [line.rsplit(" ", 1) for line in file]
    return [(stack.split(";"), int(us)) for stack, us in lines]
