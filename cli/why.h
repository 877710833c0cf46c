/* Where the time of one thread ends: wallspy report --why THREAD. */
#pragma once

#include "summary/ledger.h"

/* The thread of S whose tid, name or label is NAME, by tid first; NULL: there is none. */
const struct thread_summary *why_find(const struct thread_summaries *s, const char *name);
/* Appends the rows of the ledger of G's thread T, each with the way to it, in lines of at most
 * WIDTH columns. */
void why_add(struct text *out, const struct groups *g, const struct thread_summary *t,
             size_t width);
