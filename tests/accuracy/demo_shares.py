#!/usr/bin/env python3
"""Compares what wallspy says of the bundled demo with what the demo says of itself.

usage: demo_shares.py WALLSPY PYTHON TRAIN launched|attached
"""
import json
import sys

from support.outcome import EXIT_SKIPPED, Skipped, end_with
from support.wallspy import call, record, record_attached

SECONDS = "9"
WITHIN = 0.04
MAIN_PLACES = {"numpy_of": "Trainer.numpy_of", "loss_of": "Trainer.loss_of",
               "metrics": "Trainer.metrics"}
WORKER_PLACES = {"topk": "TopK::exec", "conv": "Conv::exec"}
WORKER_WAIT = "std::condition_variable::wait<"


def is_python(frame):
    """Python's files are paths; native ones begin with [module], wallspy's own with [off-cpu]."""
    return not frame.get("file", "[").startswith("[")


class Report:
    """Prints each check, and counts those that failed."""

    def __init__(self):
        self.failed = 0

    def check(self, ok, text):
        print(f"  {text}{'' if ok else '  WRONG'}")
        self.failed += not ok

    def share(self, name, true, shown, missed):
        self.check(true - missed - WITHIN <= shown <= true + WITHIN,
                   f"{name:10} true {true:6.2%}  shown {shown:6.2%}  off by {shown - true:+6.2%}")


def check_main(report, line, true, seconds):
    """SECONDS: how much of what TRUE is about was recorded."""
    missed = line.missed(set(MAIN_PLACES.values())) / seconds
    print(f"{line.name}: missed {missed:.2%}")
    for place, function in MAIN_PLACES.items():
        report.share(place, true[place], line.seconds_in(function) / seconds, missed)


def check_worker(report, line, true, seconds):
    missed = line.missed(set(WORKER_PLACES.values())) / seconds
    print(f"{line.name}: missed {missed:.2%}")
    for place, function in WORKER_PLACES.items():
        report.share(place, true[place], line.seconds_in(function) / seconds, missed)
    idle = line.seconds(lambda names: any(name.startswith(WORKER_WAIT) for name in names))
    report.share("idle", true["idle"], idle / seconds, missed)
    python = [frame for _, _, frames in line.samples for frame in frames if is_python(frame)]
    report.check(not python, f"{len(python)} Python frames")


def check_ioctl(report, line, wait_cpu_s):
    """A call that was answered still waits for a CPU: the kernel says how long that can have
    been."""
    def in_ioctl(names):
        return "cudaGetDeviceProperties" in names and "ioctl" in names

    whole = line.seconds(in_ioctl)
    blocked = line.seconds(lambda names: in_ioctl(names) and names[-1].startswith("ioctl ")
                           and names[-1].endswith(" [blocked]"))
    waiting = line.seconds(lambda names: in_ioctl(names) and names[-1] == "[waiting for cpu]")
    report.check(whole > 0 and blocked >= 0.99 * (whole - min(waiting, wait_cpu_s)),
                 f"ioctl {whole:.3f} s: blocked {blocked:.3f} s, waiting for a CPU {waiting:.3f} s "
                 f"(the thread in all {wait_cpu_s:.3f} s)")


def check_table(report, text):
    row = " ".join(text[text.find("  mge-worker "):].splitlines()[:3])
    for part in ("mge-worker", "TopK::exec", "cudaGetDeviceProperties", "[ioctl "):
        report.check(part in row, f"the table names {part}")


def main():
    wallspy, python, train, how = sys.argv[1:]
    how_to = {"launched": record, "attached": record_attached}[how]
    if call([python, train, "--seconds", "0.1"]).code == EXIT_SKIPPED:
        raise Skipped("train.py found no way to block in ioctl")
    run = how_to(wallspy, ["-r", "100"], [python, train, "--seconds", SECONDS, "--truth"])
    print(run.stderr)
    true = json.loads(next(line for line in run.stdout.splitlines() if line.startswith("{")))
    main_line, worker_line = run.recording.line("main"), run.recording.line("mge-worker")
    worker = run.recording.thread_facts("mge-worker")[0]
    recorded_s = (worker["end_ns"] - worker["start_ns"]) / 1e9
    report = Report()
    check_main(report, main_line, true["main"], min(true["main"]["seconds"], recorded_s))
    check_worker(report, worker_line, true["mge-worker"],
                 min(true["mge-worker"]["seconds"], recorded_s))
    check_ioctl(report, worker_line, worker["wait_cpu_ns"] / 1e9)
    check_table(report, run.stderr)
    report.check(true["eintr"] == 0, f"{true['eintr']} interrupted calls")
    return not report.failed


if __name__ == "__main__":
    end_with(main)
