/* The tasks of asyncio's in a dump, in words: of each thread that runs an event loop, like ones
 * folded. */
#pragma once

#include "cli/dump_fold.h"

/* Appends the tasks of the threads of F, NULL: those whose event loop no thread runs: "  1203
 * asyncio tasks" and their lines. */
void dump_tasks_add(struct dump *d, const struct dump_fold *f, struct text *out);
/* The latter, and how many tasks could not be read. */
void dump_tasks_add_rest(struct dump *d, struct text *out);

/* Appends what T does, its functions the outermost first: "handle app.py:31 > Queue.get", "main
 * app.py:9 > task fetch-3".  Not NUMBERED: without the numbers in which like tasks differ. */
void dump_task_add(struct dump *d, const struct listed_task *t, bool numbered, struct text *out);
