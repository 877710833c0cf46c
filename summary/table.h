/* The rows of the closing table as data: where each group of alike threads spends its time.
 *
 * The main thread comes first, because its wait is what the user sees.  The other groups follow
 * by time on a CPU, waiting for one, or blocked in an unusual place (summary/thread_summary.h), so
 * that the worker that sits in a driver is next to the main thread that waits for it, although
 * neither uses a CPU.  One row for all idle threads comes last. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "summary/groups.h"

struct table_path {
    char *parts[CALL_PATH_MAX_PARTS]; /* outermost first; the row's own */
    size_t n;
    int64_t ns; /* within the row's wall_ns */
};
/* By the kernel's count, a second and thread; 0 where they do not stand out. */
struct table_events {
    double faults, major_faults, switches; /* minor and major; without wallspy's stops */
};
struct table_row {
    char *label;              /* "main 6823", "60 x omp worker", "12 more threads" */
    struct label_shape shape; /* of LABEL */
    size_t n_threads;         /* threads whose times are summed up here */
    int64_t wall_ns;
    int64_t cpu_ns, runqueue_ns; /* within wall_ns together */
    int64_t seen_ns;             /* time that its samples stand for; 0 in a row of other rows */
    struct table_events events;
    int64_t idle_ns; /* in the polls of an event loop and pools' waits */
    char *idle;   /* "3 x gloo_tcp_loop, 6 x pt_gloo_runloop": a row of idle threads; else NULL */
    char *others; /* the same of a row that sums up the rest; else NULL */
    struct table_path paths[GROUP_MAX_PATHS]; /* heaviest first; none: no stack is known */
    size_t n_paths;
};

/* Nothing in the texts is an order to a terminal. */
struct table {
    struct table_row *rows;
    size_t n;
    bool partial; /* stacks were left out (--gil): the time without them need not be blocked */
};
/* The rows of G, at most MAX_ROWS ≥ 2; the last ones sum up those that are too many.  Borrows
 * nothing. */
void table_init(struct table *t, const struct groups *g, size_t max_rows);
void table_release(struct table *t);
