"""Waits in ray.get() for tasks.  The culprit: simulate(), of two processes of Ray's."""
import ray
from steady import Steady


@ray.remote
def simulate(number):
    return sum(item * item % 7 for item in range(number))


def gather():
    return ray.get([simulate.remote(2_000_000) for _ in range(4)])


run = Steady()
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
gather()
run.repeat(gather)
