/* The tasks of asyncio's in a dump: which thread runs their loops, and what they wait for. */
#pragma once

#include "dump/dump.h"

struct process_set;
/* Reads the tasks of all processes.  Before the dump has its view. */
void dump_tasks_read(struct dump *d, const struct process_set *processes);
/* Finds the threads that run their event loops.  D has all threads, in their order. */
void dump_tasks_link(struct dump *d);
void dump_tasks_release(struct dump *d);
/* The kind of T's wait: "queue", "lock", "task", "future", …; NULL: none. */
const char *dump_task_kind(struct dump *d, const struct listed_task *t);
/* The method of an object of asyncio's that T waits in ("Queue.get"); NULL: none. */
const char *dump_task_method(struct dump *d, const struct listed_task *t);
/* The task that T waits for; NULL: none, or unknown. */
const struct listed_task *dump_task_awaited(const struct dump *d, const struct listed_task *t);
