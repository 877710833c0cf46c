/* One asyncio task in a dump. */
#pragma once

#include "cli/dump_thread.h"

/* Appends what T does, its functions the outermost first: "handle app.py:31 > Queue.get", "main
 * app.py:9 > task fetch-3".  Not NUMBERED: without the numbers in which like tasks differ.  FULL:
 * with all functions, and whole paths. */
void dump_task_add(struct dump *d, const struct listed_task *t, bool full, bool numbered,
                   struct text *out);
/* The kind of T's wait: "queue", "lock", "task", "future", …; NULL: none. */
const char *dump_task_kind(struct dump *d, const struct listed_task *t);
/* The method of an object of asyncio's that T waits in ("Queue.get"); NULL: none. */
const char *dump_task_method(struct dump *d, const struct listed_task *t);
/* Of an object at ADDRESS of PROCESS, to tell it from those of others. */
uint64_t dump_task_key(process_id process, uint64_t address);
/* The task that T waits for; NULL: none, or unknown. */
const struct listed_task *dump_task_awaited(const struct dump *d, const struct listed_task *t);
