/* The tasks of asyncio's in a dump: of each thread that runs an event loop, like ones folded. */
#pragma once

#include "cli/dump_fold.h"

/* Reads the tasks of all processes.  Before the dump has its view. */
void dump_tasks_read(struct dump *d, const struct process_set *processes);
/* Finds the threads that run their event loops.  D has all threads, in their order. */
void dump_tasks_link(struct dump *d);
void dump_tasks_release(struct dump *d);
/* Appends the tasks of the threads of G: "  1,203 asyncio tasks" and their lines. */
void dump_tasks_add(struct dump *d, const struct dump_fold *g, struct text *out);
/* The same of those whose event loop no thread runs; then the tasks that could not be read. */
void dump_tasks_add_rest(struct dump *d, struct text *out);
