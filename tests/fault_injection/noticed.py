"""Calls that failed and did not end wallspy: does it say so, in a message, a counter or the dump,
or was nothing lost by them?
"""
import errno
import json
import os
import re

# What the profile counts of samples, stacks and calls that are less than whole.
COUNTERS = (
    "unreadable", "refused", "stuck", "ring_full", "perturbed_calls", "stacks_not_complete",
    "python_walks_cut",
    "python_reads_failed", "unknown_code_objects", "merge_native_cut", "merge_mismatch",
    "no_stop_given_up", "modules_without_file", "images_cut", "mappings_cut", "fds_evicted")
WORDS = re.compile(r"warning:|cannot|not complete|incomplete|not captured|no\s+sample|refused|"
                   r"\(\?\)")

# Calls whose failure loses nothing, by their line in strace's log.
HARMLESS = [re.compile(pattern) for pattern in (
    r"^wait4\(",  # is asked again; a status that is lost for good is said
    r"^ptrace\(PTRACE_DETACH",  # tried again, else counted as stuck
    r"^ptrace\(PTRACE_SEIZE.* = -1 EPERM",  # is asked once more; who refuses again is counted
    r"^ptrace\(PTRACE_INTERRUPT",  # the thread runs on; counted in "pending_ticks"
    r"^prctl\(PR_SET_PTRACER",  # without Yama there is nothing to allow
    r"^mmap\(",  # malloc takes memory from elsewhere; a file is found on the next of several ways
    # is it available?
    r"^process_vm_readv\(\d+, \[\{iov_base=\w+, iov_len=1\}\], 1, \[\{iov_base=NULL",
    # of several stretches: the stack is read again alone
    r"^process_vm_readv\(\d+, \[\{[^}]*\}, \{",
    # Short ones are the worker's: is there a Python, a JIT list, which version?  They are asked
    # again.
    r"^process_vm_readv\(.*iov_len=\d{1,3}\}\], 1, \[\{iov_base=\w+, iov_len=\d{1,3}\}\], 1, 0\) "
    r"+=",
    # So are its looks through an interpreter's variables, a mapping's last page among them.
    r"^process_vm_readv\(.*iov_len=4096\}\], 1, \[\{iov_base=\w+000, iov_len=4096\}\], 1, 0\) = ",
    r"^(read|write)\(\d+<anon_inode:",  # wakes and is woken again within a tick
    r"^write\(2<",  # there is no other place to say it
    r"= -1 EINTR ",  # whoever writes or reads does it again
    # may a command be sampled?  That is seen then; who asks for a pid is told
    r'^openat\([^"]*"/proc/\d+/stat"',
    # What is no thread's file: programs and libraries (there are several ways to each), names,
    # limits.
    r'^openat\([^"]*"(?!/proc/\d+/(task/\d+/)?(maps|stat|status|syscall|schedstat|task)")',
    r"^p?read(64)?\(\d+<(?!/proc/\d+/(task/\d+/)?(maps|stat|status|syscall|schedstat)>)",
    # It says that the thread or the process is gone; the next listing finds it again.
    r'^openat\([^"]*"/proc/\d+/(task/\d+/\w+|maps)".* = -1 ENOENT',
    r"^pread64\(\d+</proc/\d+/task/\d+/syscall>.* = -1 ESRCH",
    r"^process_vm_readv\(.* = -1 ESRCH",
    r'^openat\([^"]*"/proc/\d+/task", [^)]*\) = -1 ENOENT',
    # the vdso: cut stacks in it are counted
    r"^process_vm_readv\(.*iov_len=8192\}\], 1, 0\) = -1 EPERM",
    # Once a thread's state is unknown: "running or runnable", and it is named later.
    r'^openat\([^"]*"/proc/\d+/task/\d+/(stat|status)"',
    r"^p?read(64)?\(\d+</proc/\d+/task/\d+/(stat|status)>",
    r"^p?read(64)?\(\d+</proc/\d+/(stat|status|maps)>",  # read again at the next tick
    r"^p?read(64)?\(\d+</proc/\d+/syscall>",  # may we attach?  That is seen then
    # the sample is not repeated, but taken anew
    r"^p?read(64)?\(\d+</proc/\d+/task/\d+/schedstat>",
)]


# Of one stretch: the stack.  That of a thread which ran meanwhile, so that what was read is not
# used, but read again.
STACK_READ = re.compile(r"^process_vm_readv\(\d+, \[\{[^}]*iov_len=\d{5,}\}\], 1, ")


def harmful(log, rejects):
    """The first call of the log that failed and may have lost something, or None.  REJECTS: so many
    captures of waiting threads were not used, since the thread ran (no_stop_rejects)."""
    begun = {}
    for line in log.splitlines():
        tid, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith("<unfinished ...>"):
            begun[tid] = call
        if call.endswith("(INJECTED)"):
            if call.startswith("<..."):  # "openat(… <unfinished ...>", "<... openat resumed>) = …"
                before = begun.get(tid, "").removesuffix("<unfinished ...>").rstrip()
                call = f"{before} {call.partition('resumed>')[2]}"
            call = re.sub(r"[ ]*\) += ", ") = ", call)
            if any(pattern.search(call) for pattern in HARMLESS):
                continue
            # wallspy's own: has it waited for a CPU?  Unknown, no wait is taken for a lock.
            if re.match(rf'openat\([^"]*"/proc/\d+/task/{tid}/schedstat"', call):
                continue
            if not (rejects and STACK_READ.search(call)):
                return call
            rejects -= 1
    return None


def told_by_dump(command, printed):
    """Does it say of each thread that its stack is less than whole, or show all of it?  Then what
    failed was noticed, or lost nothing."""
    if "--json" in command:
        # each says "complete": true or false
        return bool(json.loads(printed)["processes"][0]["threads"])
    threads = [part for part in re.split(r"^(?=\d)", printed, flags=re.M) if "\n    " in part]
    return bool(threads) and all(
        WORDS.search(thread) or re.search(r"^    (_start|_*clone3?) ", thread, re.M)
        for thread in threads)


def silent(point, profile, said, printed, log):
    """The call that failed and was neither noticed nor harmless, or None."""
    if re.search(r"write\(2<.*INJECTED", log):  # it could not say anything
        return None
    if os.strerror(getattr(errno, point.error)) in said or WORDS.search(said):
        return None
    if profile and any(profile["wallspy"].get(name, 0) > 0 for name in COUNTERS):
        return None
    if point.command.startswith("dump") and told_by_dump(point.command, printed):
        return None
    return harmful(log, profile["wallspy"].get("no_stop_rejects", 0) if profile else 0)
