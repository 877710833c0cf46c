/* What the threads of a report waited for: a row for each thing, with whoever had it. */
#pragma once

#include "base/hash.h"
#include "cli/report_tables.h"
#include "profile/strings.h"

struct wait_row {
    string_id words; /* of the rows: "futex [blocked]: lock table, held by refresh 4203" */
    int64_t ns;
    uint64_t times;
    uint32_t threads, last_thread; /* how many, and the number of the last one */
    const struct wait *wait;       /* the first one of it; the profile's */
};
struct wait_rows {
    struct strings words;
    struct map by_words;
    struct wait_row *items; /* heaviest first */
    size_t n, capacity;
    int64_t all_ns;
};
/* Of the stacks that S's options leave. */
void wait_rows_init(struct wait_rows *rows, const struct report_source *s);
const char *wait_rows_words(const struct wait_rows *rows, size_t i);
void wait_rows_release(struct wait_rows *rows);

/* Appends the other side of a wait of process WAITER's, "lock table, held by refresh 4203" or "the
 * end of load 17", with the labels of ALL; nothing if nothing was read. */
void report_add_side(struct text *out, const struct profile *p, const struct thread_summaries *all,
                     const struct wait_side *side, pid_t waiter);
