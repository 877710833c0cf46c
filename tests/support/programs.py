"""The programs that a test was given, and as which user they run."""
import os
import pathlib
import pwd

# "wallspy"; in cli "target" and "deny"; in target_safety and fault_injection "targets", a folder
programs = {}

IS_ROOT = os.geteuid() == 0
USER = "nobody" if IS_ROOT else pwd.getpwuid(os.geteuid()).pw_name
UID = pwd.getpwnam(USER).pw_uid


def become(user):
    """The words before a command that USER is to run; None: whoever runs the test."""
    return ["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups"] if user else []


# A plain user, also where root runs the tests.
PLAIN_USER = USER if IS_ROOT else None
AS_USER = become(PLAIN_USER)


def is_sanitized():
    """Is wallspy built with AddressSanitizer, which maps and reserves memory as it likes?"""
    return b"__asan_init" in pathlib.Path(programs["wallspy"]).read_bytes()
