/* The tables of wallspy report: threads, functions, waits, and the tree of calls. */
#pragma once

#include "base/text.h"
#include "cli/options.h"
#include "summary/thread_summary.h"

struct report_source {
    const struct options *o;
    const struct profile *p;
    struct view *view;
    const struct thread_summaries *threads;
    size_t width; /* columns of a line, at least 60 */
};
/* Appends the tables that O asks for, with an empty line between them. */
void report_tables_add(const struct options *o, const struct profile *p, size_t width,
                       struct text *out);
/* One each.  Times are in seconds, and sums of those are the kernel's counts. */
void report_add_threads(const struct report_source *s, struct text *out);
void report_add_functions(const struct report_source *s, struct text *out);
void report_add_waits(const struct report_source *s, struct text *out);
void report_add_tree(const struct report_source *s, struct text *out);
