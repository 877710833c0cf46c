"""Which thread of wallspy has a better nice than others, while it samples: its sampler's alone,
where the machine grants it, and nothing that wallspy starts.

usage: nice.py WALLSPY FOLDER [unittest's arguments]

What a test would start with another nice or policy than the usual one is skipped.
"""
import os
import resource
import tempfile
import unittest

from support.outcome import main
from support.processes import children, schedstat, status, threads, wait_until
from support.programs import IS_ROOT, programs
from support.targets import Target
from support.wallspy import call

CAP_SYS_NICE = 1 << 23
UNPRIVILEGED = ["prlimit", "--nice=0", "setpriv", "--inh-caps=-sys_nice",
                "--bounding-set=-sys_nice"]
SAMPLER = "wallspy-sampler"
COMMAND = ["sh", "-c", "echo ready; read line"]


def granted():
    """The best nice that a thread of this process may have."""
    if int(status(os.getpid(), "CapEff"), 16) & CAP_SYS_NICE:
        return -20
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    return min(0, 20 - min(limit, 40)) if limit >= 0 else -20


@unittest.skipIf(os.nice(0) or os.sched_getscheduler(0) != os.SCHED_OTHER,
                 "the test has a nice or a policy of its own")
class Nice(unittest.TestCase):
    def found(self, *prefix):
        """The nice and policy of wallspy's sampler, the set of those of its other threads, and of
        the command."""
        with tempfile.TemporaryDirectory() as folder:
            line = [*prefix, programs["wallspy"], "record", "-q", "-o", f"{folder}/out.json",
                    "--", *COMMAND]
            with Target(line, ready="ready", gently=True) as wallspy:
                (command,) = children(wallspy.pid)
                wait_until(lambda: self.samples(wallspy.pid), what="wallspy does not sample")
                how = {}
                for tid in threads(wallspy.pid):
                    how.setdefault(status(wallspy.pid, "Name", tid), set()).add(self.how(tid))
                of_command = {self.how(tid) for tid in threads(command)}
        (sampler,) = how.pop(SAMPLER)
        return sampler, set.union(*how.values()), of_command

    @staticmethod
    def samples(pid):
        """Has its sampler woken several times?"""
        return any(schedstat(pid, tid).runs > 5 for tid in threads(pid)
                   if status(pid, "Name", tid) == SAMPLER)

    @staticmethod
    def how(tid):
        return os.getpriority(os.PRIO_PROCESS, tid), \
            os.sched_getscheduler(tid) & ~os.SCHED_RESET_ON_FORK

    def test_the_sampler_has_what_is_granted(self):
        usual = {(0, os.SCHED_OTHER)}
        self.assertEqual(self.found(), ((granted(), os.SCHED_OTHER), usual, usual))

    @unittest.skipUnless(IS_ROOT, "only root can drop a capability")
    def test_without_a_grant_all_are_equal(self):
        usual = (0, os.SCHED_OTHER)
        self.assertEqual(self.found(*UNPRIVILEGED), (usual, {usual}, {usual}))

    def test_a_given_nice_stays(self):
        given = (5, os.SCHED_OTHER)
        self.assertEqual(self.found("nice", "-n", "5"), (given, {given}, {given}))

    def test_a_given_policy_stays(self):
        if call(["chrt", "-f", "10", "true"]).code != 0:
            self.skipTest("no real-time priority is available here")
        given = (0, os.SCHED_FIFO)
        self.assertEqual(self.found("chrt", "-f", "20"), (given, {given}, {given}))


if __name__ == "__main__":
    main(__doc__, "wallspy", "targets")
