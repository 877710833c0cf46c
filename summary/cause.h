/* What a thread's time goes to: one cause for each of its runs. */
#pragma once

#include "summary/call_tree.h"

enum cause {
    CAUSE_UNKNOWN, /* outside of calls, where wallspy could not see */
    CAUSE_COMPUTES,
    CAUSE_CPU,     /* waits for one */
    CAUSE_GC,      /* Python's collector */
    CAUSE_IMPORTS, /* Python's import, with the code that modules run */
    CAUSE_PICKLES, /* and sends, receives or unpickles data of another process's */
    CAUSE_STARTS,  /* threads, and waits until they have begun */
    CAUSE_FAULTS,  /* the kernel's work for its minor page faults */
    CAUSE_NUMA,    /* the same of pages that the kernel moves between nodes */
    CAUSE_SPINS,
    CAUSE_PAGE,
    CAUSE_GIL,
    CAUSE_LOCK,      /* held by somebody: also one of files, of SQLite's, of the C library's own */
    CAUSE_JOIN,      /* a thread's end */
    CAUSE_CONDITION, /* for somebody to wake it: a condition, an event, a queue, a semaphore */
    CAUSE_CHILD,
    CAUSE_PEER, /* what another process sends or takes: pipes, sockets, polls */
    CAUSE_FILE,
    CAUSE_DEVICE,
    CAUSE_TIMER,
    CAUSE_IDLE, /* a pool's or an event loop's wait for work */
    CAUSE_STOPPED,
    CAUSE_KINDS,
};
/* Of RUN, which V shows; T is the tree of V's stacks. */
enum cause cause_of_run(struct call_tree *t, struct view *v, const struct run *run);
/* Is RUN a wait for another process, in functions of a library that pass data to it? */
bool waits_for_message(struct call_tree *t, struct view *v, const struct run *run);
/* Does RUN wait in an event loop, with nothing to do? */
bool run_is_in_idle_loop(struct call_tree *t, struct view *v, const struct run *run);
const char *cause_name(enum cause cause); /* "computes", "lock": as -v has it */
