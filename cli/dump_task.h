/* What a dump says of one task of asyncio's. */
#pragma once

#include "cli/dumped.h"

/* Appends what T does, its functions the outermost first: "handle app.py:31 > Queue.get", "main
 * app.py:9 > task fetch-3".  Not NUMBERED: without what tells like tasks apart.  FULL: with all
 * functions, and whole paths. */
void dump_task_add(struct dump *d, const struct listed_task *t, bool full, bool numbered,
                   struct text *out);
/* What T waits for: "queue", "lock", "task", "future", …; NULL: nothing. */
const char *dump_task_kind(struct dump *d, const struct listed_task *t);
/* The method of an object of asyncio's that T waits in ("Queue.get"); NULL: none. */
const char *dump_task_method(struct dump *d, const struct listed_task *t);
/* The task that T waits for; NULL: none, or it is not known. */
const struct listed_task *dump_task_awaited(const struct dump *d, const struct listed_task *t);
