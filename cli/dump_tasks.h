/* The tasks of asyncio's in a dump: of each thread that runs an event loop, like ones folded. */
#pragma once

#include "cli/dump_fold.h"

/* Reads the tasks of all processes.  Before the dump has its view. */
void dump_tasks_read(struct dump *d, const struct process_set *processes);
/* Finds the threads that run their event loops.  D has all threads, in their order. */
void dump_tasks_link(struct dump *d);
void dump_tasks_release(struct dump *d);
/* Appends the tasks of the threads of F, NULL: those whose event loop no thread runs: "  1203
 * asyncio tasks" and their lines. */
void dump_tasks_add(struct dump *d, const struct dump_fold *f, struct text *out);
/* The latter, and how many tasks could not be read. */
void dump_tasks_add_rest(struct dump *d, struct text *out);

/* Appends what T does, its functions the outermost first: "handle app.py:31 > Queue.get", "main
 * app.py:9 > task fetch-3".  Not NUMBERED: without the numbers in which like tasks differ. */
void dump_task_add(struct dump *d, const struct listed_task *t, bool numbered, struct text *out);
/* The kind of T's wait: "queue", "lock", "task", "future", …; NULL: none. */
const char *dump_task_kind(struct dump *d, const struct listed_task *t);
/* The method of an object of asyncio's that T waits in ("Queue.get"); NULL: none. */
const char *dump_task_method(struct dump *d, const struct listed_task *t);
/* The task that T waits for; NULL: none, or unknown. */
const struct listed_task *dump_task_awaited(const struct dump *d, const struct listed_task *t);
