/* The rows of threads: the kernel's counts of them, and their runs.  Each is checked. */
#pragma once

#include "recording/reader.h"

bool read_thread(struct reader *r, union item *item);
bool read_count(struct reader *r, union item *item);
bool read_run(struct reader *r, union item *item);

/* The same with what the file keeps of the newest time: first all rows of TABLE_RECENT, then those
 * of TABLE_RUN.  read_time_sort() then puts each thread's runs in order. */
bool read_recent(struct reader *r, union item *item);
bool read_run_beside(struct reader *r, union item *item);
void read_time_sort(struct reader *r);
