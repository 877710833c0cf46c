"""Runs inside gdb: for each pid on stdin, prints {tid: [[pc, kind, function], …]} as one line of JSON.

Only physical frames, innermost first: inlined calls share the address of the frame they are in, and
gdb makes tail-call frames up from the callers' call sites.
"""
import json
import sys

import gdb

KINDS = {gdb.NORMAL_FRAME: "normal", gdb.SIGTRAMP_FRAME: "signal"}
for setting in ("confirm off", "pagination off", "backtrace past-main on", "debuginfod enabled off",
                "print thread-events off", "auto-load no"):
    gdb.execute("set " + setting, to_string=True)


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
    seen = {t.ptid[1]: frames(t) for t in gdb.selected_inferior().threads()}
    gdb.execute("detach", to_string=True)
    print(json.dumps(seen), flush=True)
