#!/usr/bin/env python3
"""Ten thousand threads of which hardly any runs: are their bursts seen, and what does it cost?

usage: sleepers.py WALLSPY CROWD turns|idle

turns  One after the other computes for 5 ms, in two functions.  Most of them are looked at in one
       of 8 ticks only, so of N samples that found one running, each of which stands for as much
       more, each is in either function with probability p.
idle   Up to four threads compute, the others sleep: at 100 Hz wallspy takes no more than 30 % of a
       CPU, or a fifth more than this machine takes just then to read one in 8 run counts a tick,
       and 99 % of the ticks are in time, once the threads are known.  A machine that pauses for
       150 ms takes as many: what is not good enough is recorded once more, and judged by both.
"""
import os
import resource
import statistics
import sys
import time

from support.measure import measured, share_of_samples, unless_others
from support.outcome import Skipped, end_with
from support.targets import Target
from support.wallspy import call, record_attached, record_process

THREADS = 10000
RATE = 100
BLOCK_TICKS = 8  # at this number of threads and this rate
TURNS_S = 40
# The smallest error of a share that is found.
CATCHES = 0.25
FIRST_S, LONG_S = 4, 16
MOST_CPU, LEAST_IN_TIME = 0.30, 0.99
ABOVE_FLOOR, FLOOR_TICKS = 1.2, 50


def parse_truth(text):
    """{function: CPU time}."""
    return {name: float(seconds) for name, seconds in
            (line.split() for line in text.splitlines() if len(line.split()) == 2)}


def record_turns(wallspy, sleepers):
    run = record_attached(wallspy, ["-r", str(RATE)],
                          [sleepers, "turns", str(TURNS_S), str(THREADS)], timeout=TURNS_S + 60)
    truth = parse_truth(run.stdout)
    cpu = run.recording.profile("ALL | cpu")
    true_s = sum(truth.values())
    shown_s = sum(cpu.seconds_in(name) for name in truth)
    print(f"CPU time {shown_s:.2f} s, by its own clock {true_s:.2f} s; "
          f"{run.recording.facts['late_ticks']} ticks late, "
          f"seen {run.recording.facts.get('seen_share')}")
    # It attaches while the program goes on.
    assert 0.9 * true_s - 1 < shown_s < 1.03 * true_s
    samples = shown_s * run.recording.facts["rate_hz"] / BLOCK_TICKS
    return {name: share_of_samples(cpu.seconds_in(name) / shown_s, seconds / true_s, samples,
                                   catches=CATCHES) for name, seconds in truth.items()}


def cost_of(wallspy, pid, seconds):
    """CPU seconds of a recording, its ticks, and those that were late."""
    def used_s():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used_s()
    facts = record_process(wallspy, ["-r", str(RATE), "-d", str(seconds)], pid,
                           timeout=seconds + 60).recording.facts
    return used_s() - before, facts["ticks"], facts["late_ticks"]


def floor_of(pid):
    """Which share of a CPU it takes to read the run counts of one in BLOCK_TICKS of PID's threads
    at each tick."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files = [os.open(f"/proc/{pid}/task/{tid}/schedstat", os.O_RDONLY)
             for tid in os.listdir(f"/proc/{pid}/task")]
    took = []
    for tick in range(FLOOR_TICKS):
        begin = time.process_time()
        for file in files[tick % BLOCK_TICKS::BLOCK_TICKS]:
            os.pread(file, 64, 0)
        took.append(time.process_time() - begin)
        time.sleep(1 / RATE)
    for file in files:
        os.close(file)
    return statistics.median(took) * RATE


def idle_is_cheap(wallspy, sleepers):
    with Target([sleepers, "idle", str(10 * LONG_S), str(THREADS)]) as target:
        all_s = cpu_s = ticks = late = 0
        for _ in range(2): # each with a beginning of its own: how many of its ticks are late varies
            first = cost_of(wallspy, target.pid, FIRST_S)
            whole = cost_of(wallspy, target.pid, LONG_S)
            cpu_s, ticks, late = (total + b - a for total, a, b in
                                  zip((cpu_s, ticks, late), first, whole))
            all_s += LONG_S - FIRST_S
            share, in_time = cpu_s / all_s, ticks / max(1, ticks + late)
            floor = floor_of(target.pid)
            print(f"after the first {FIRST_S} s, which take {first[0]:.2f} s: {share:.1%} of a CPU "
                  f"(the floor is {floor:.1%}), {in_time:.1%} of {ticks + late} ticks in time")
            if share <= max(MOST_CPU, ABOVE_FLOOR * floor) and in_time >= LEAST_IN_TIME:
                return True
    return False


def main(wallspy, sleepers, how):
    if "ready" not in call([sleepers, "idle", "0", str(THREADS)]).stdout:
        raise Skipped(f"this machine allows fewer than {THREADS} threads")
    if how == "turns":
        return measured(lambda: record_turns(wallspy, sleepers))
    return unless_others(lambda: idle_is_cheap(wallspy, sleepers))


if __name__ == "__main__":
    end_with(main, *sys.argv[1:])
