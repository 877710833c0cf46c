/* Finds what the tasks of asyncio's wait for.  Now and then the worker reads one word of each task,
 * the address of what it waits for; at the end it reads their functions, those of the tasks that
 * have waited for a second first.  Live memory; no thread is held for it. */
#pragma once

#include "base/duty_cycle.h"
#include "base/hash.h"
#include "worker/target_process.h"

struct task_watch { /* zero-initialise */
    struct map
        since; /* hash of a process, a task and what it waits for → when that was seen first */
    struct map now; /* the same while looking */
    int64_t now_ns;
    bool more; /* the last look did not see all tasks */
};
/* A look at some processes: begin, each that lives, end. */
void task_watch_begin(struct task_watch *w);
void task_watch_look(struct task_watch *w, const struct target_process *s);
void task_watch_end(struct task_watch *w);
/* Tells S's profile where its tasks wait, and for how long since the second last look, at least. */
void task_watch_report(const struct task_watch *w, struct target_process *s);
void task_watch_release(struct task_watch *w);
