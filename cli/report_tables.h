/* The tables of wallspy report: threads, functions, waits, and the tree of calls. */
#pragma once

#include "base/text.h"
#include "cli/options.h"
#include "summary/path_times.h"
#include "summary/thread_summary.h"

struct report_source {
    const struct options *o;
    const struct profile *p;
    struct view *view;
    const struct thread_summaries *threads; /* those that are asked for */
    size_t width;                           /* columns of a line, at least 60 */
    struct thread_summaries all, kept;      /* KEPT: as THREADS */
};
/* Borrows O and P. */
void report_source_init(struct report_source *s, const struct options *o, const struct profile *p,
                        size_t width);
void report_source_release(struct report_source *s);
/* Appends the tables that O asks for, with an empty line between them. */
void report_tables_add(const struct options *o, const struct profile *p, size_t width,
                       struct text *out);
/* One each.  Times are in seconds, and sums of those are the kernel's counts. */
void report_add_threads(const struct report_source *s, struct text *out);
void report_add_functions(const struct report_source *s, struct text *out);
void report_add_waits(const struct report_source *s, struct text *out);
void report_add_tree(const struct report_source *s, struct text *out);

/* The functions in the stacks that S's options leave, by their own wall time. */
struct report_functions {
    struct function_times *items; /* texts are of PATHS and S */
    size_t n;
    int64_t all_ns; /* in these stacks */
    struct paths *paths;
};
void report_functions_init(struct report_functions *ret, const struct report_source *s);
void report_functions_release(struct report_functions *f);
