/* The rows of the closing table (interface.md "Terminal") as data: what each thread mostly does.
 *
 * The main thread comes first, because its wait is what the user sees.  The other threads follow
 * by time on a CPU, waiting for one, or blocked in an unusual place (summary/survey.h), so that
 * the worker that sits in a driver is next to the main thread that waits for it, although neither
 * uses a CPU.  Idle threads come last.  Threads of one name, but for numbers, whose biggest path
 * is the same are one row, which has its place by their sum.  The biggest path is the one with
 * most wall time after shortening (summary/short_path.h), so that the ways through libc to one
 * wait are one path; its line is the one mostly seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "summary/short_path.h"
#include "summary/view.h"

struct table_row {
    char *label;      /* "main 6823", "60 x omp worker", "12 more threads" */
    size_t n_threads; /* whose times are summed up here */
    int64_t wall_ns;
    int64_t cpu_ns, runqueue_ns; /* within wall_ns together */
    int64_t seen_ns;             /* that its samples stand for; 0 in a row of other rows */
    bool idle;                   /* PARTS name the wait of a pool if its kind is known */
    /* The biggest path, outermost first; none: no stack is known, or the row sums up others. */
    const char *parts[SHORT_PATH_MAX_PARTS];
    size_t n_parts;
    int64_t path_ns; /* within wall_ns */
    char *path;      /* storage of PARTS */
};

/* Nothing in the texts is an order to a terminal. */
struct table {
    struct table_row *rows;
    size_t n;
    bool partial; /* stacks were left out (--gil): the time without them need not be blocked */
};
/* The rows of P as OPTIONS show it, at most MAX_ROWS > 0; the last one sums up those that are too
 * many.  Borrows nothing. */
void table_init(struct table *t, const struct profile *p, const struct view_options *options,
                size_t max_rows);
void table_release(struct table *t);
