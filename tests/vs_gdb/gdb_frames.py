"""Runs inside gdb: for each pid on stdin, prints {tid: [[pc, kind, function], …]} as one line of
JSON.

With WHOLE in the environment, a file: it is the program that runs, with what was taken out of that.
Only physical frames, innermost first: inlined calls share the address of the frame they are in, and
gdb makes tail-call frames up from the callers' call sites.
"""
import json
import os
import sys

import gdb

KINDS = {gdb.NORMAL_FRAME: "normal", gdb.SIGTRAMP_FRAME: "signal"}
for setting in ("confirm off", "pagination off", "backtrace past-main on", "debuginfod enabled off",
                "print thread-events off", "auto-load no"):
    gdb.execute("set " + setting, to_string=True)


def start_of(pid):
    """Where its program is mapped, if that can be anywhere."""
    program = os.readlink(f"/proc/{pid}/exe")
    with open(program, "rb") as file:
        if file.read(18)[16] == 2:  # ET_EXEC
            return 0
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))


def frames(thread):
    thread.switch()
    frame, found = gdb.newest_frame(), []
    while frame:
        if frame.type() in KINDS:
            found.append((frame.pc(), KINDS[frame.type()], frame.name()))
        try:
            frame = frame.older()
        except gdb.error as error:
            found.append((0, str(error), None))
            break
    return found


for line in sys.stdin:
    gdb.execute("attach " + line, to_string=True)
    if "WHOLE" in os.environ:
        gdb.execute(f"add-symbol-file {os.environ['WHOLE']} -o {start_of(line.strip())}",
                    to_string=True)
    seen = {t.ptid[1]: frames(t) for t in gdb.selected_inferior().threads()}
    gdb.execute("detach", to_string=True)
    print(json.dumps(seen), flush=True)
