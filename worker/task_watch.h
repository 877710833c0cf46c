/* Finds what the tasks of asyncio's wait for.  Now and then the worker reads one word of each task,
 * the address of what it waits for; at the end it reads their functions, those of the tasks that
 * have waited for a second first.  Live memory; no thread is held for it. */
#pragma once

#include "base/duty_cycle.h"
#include "base/hash.h"
#include "worker/target_process.h"
#include "worker/turns.h"

struct task_watch { /* zero-initialise */
    struct map
        since; /* hash of a process, a task and what it waits for → when that was seen first */
    struct map now; /* the same while looking */
    int64_t now_ns; /* when the last look, or the report, began */
    struct turns turns;
    size_t most_groups; /* of a process, in the report */
    bool more;          /* the last look did not see all tasks */
};
/* A look at N processes: begin, each that lives, end. */
void task_watch_begin(struct task_watch *w, size_t n);
void task_watch_look(struct task_watch *w, const struct target_process *s);
void task_watch_end(struct task_watch *w);
/* A report of N processes: begin, each that lives.  Tells S's profile where its tasks wait, and for
 * how long since the second last look, at least. */
void task_watch_report_begin(struct task_watch *w, size_t n);
void task_watch_report(struct task_watch *w, struct target_process *s);
void task_watch_release(struct task_watch *w);
