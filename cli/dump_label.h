/* What threads of a dump are called. */
#pragma once

#include "dump/dump.h"

/* Sets what the threads of D, which has its view, are called. */
void dump_label_threads(struct dump *d);
/* Appends "28099 commit"; of a dump of several processes "28099 rank1 main" or "28099 job (28095)".
 * Not NUMBERED: "commit", "main": equal for threads of processes that do the same. */
void dump_label_add(const struct dump *d, const struct dump_thread *t, bool numbered,
                    struct text *out);
