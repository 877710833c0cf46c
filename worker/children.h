/* The children of the recorded processes, by looks at all processes of the machine. */
#pragma once

#include "base/hash.h"
#include "profile/profile.h"
#include "target/process_list.h"

enum { MAX_CHILDREN_KEPT = 64 };

struct child {
    uint64_t pid, start_ticks;
    char comm[TASK_COMM_BYTES];
    int64_t cpu_ns;     /* the most that a look found, and before the last pause */
    int64_t cpu_now_ns; /* what the present look has found, since that pause */
    int64_t paused_ns;  /* CPU_NS as of the last pause */
    bool came, here;    /* it began after the first list; the last look has seen it */
};

/* The children of one process that any look has seen. */
struct children {        /* zero-initialise */
    pid_t pid;           /* of the process */
    bool over;           /* it has ended */
    bool known;          /* at least one look found the list of children */
    struct child *items; /* at most MAX_CHILDREN_KEPT */
    size_t n, capacity;
    struct map seen; /* all of them */
};

/* A look at the children of N processes.  BEFORE, read at BEGAN_TICKS, is the first list; NOW the
 * present one, to which children are added that it lacks. */
void children_look(struct children *c, size_t n, const struct process_list *before,
                   uint64_t began_ticks, struct process_list *now);
/* From now on BEFORE is another list, as after a pause: what the children of C used until now
 * counts. */
void children_skip(struct children *c);
/* The CPU time that children of C which have ended had used before: those that BEFORE lists, and
 * NOW does not, if that is whole.  The kernel adds whole lives to what a parent's children used.
 * Of children that nobody waited for, or that ended in a pause, it is too much. */
int64_t children_older_ns(const struct children *c, const struct process_list *before,
                          const struct process_list *now);
/* Tells P of C, the children of its process ID; PIDS has the recorded processes' pids as keys. */
void children_report(const struct children *c, struct profile *p, process_id id,
                     const struct map *pids);
void children_release(struct children *c);
