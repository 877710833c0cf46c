/* The threads of a profile and their time lines, within a bound.  At the bound the time lines
 * become coarser (runs.h), by steps of a second first, then of two, four and so on, but for the
 * newest time and for windows, which have three eighths of the bound (exact_time.h).  Where more
 * threads have ended than may have a row each, those that ended first become one per process and
 * name.  Of a ring (ageing.h) the oldest time loses its order instead, and the ring gets shorter.
 * Private to profile/. */
#pragma once

#include "base/hash.h"
#include "profile/exact_time.h"
#include "profile/profile.h"
#include "profile/strings.h"

/* A wait of P's without whom it is for. */
typedef wait_id plain_wait(struct profile *p, wait_id id);

struct thread_table {
    struct profile_thread *items; /* by id − 1 */
    size_t n, capacity;
    size_t limit, run_bytes; /* LIMIT 0: none */
    size_t most_ended;       /* threads with a row each */
    struct exact_time exact;
    int64_t keep_ns;          /* the order of what is older is not kept; 0: of nothing */
    bool full;                /* no step makes enough room */
    uint64_t n_folded;        /* ended threads that were folded into one per name */
    uint64_t n_without_a_run; /* ended so, and left out */
    struct map sums;          /* process and name → the id that stands for such threads */
    struct strings *strings;
    plain_wait *plain_wait; /* NULL: there is no wait yet */
    struct profile *profile;
    uint32_t *ended; /* ids, in the order of their ends */
    size_t n_ended, ended_capacity;
    uint32_t *unused; /* ids that may be given again */
    size_t n_unused, unused_capacity;
    uint64_t remade; /* the last number that a thread got */
};

/* LIMIT in bytes; STRINGS is borrowed. */
void thread_table_init(struct thread_table *t, size_t limit, struct strings *strings);
thread_id thread_table_add(struct thread_table *t, const struct profile_thread *thread);
struct profile_thread *thread_table_get(const struct thread_table *t, thread_id id);
/* Appends RUN or joins it to the last one.  False: there is no room for another. */
bool thread_table_add_run(struct thread_table *t, thread_id id, const struct run *run);
/* The same, whatever room there is. */
void thread_table_force_run(struct thread_table *t, thread_id id, const struct run *run);
/* The same, and joins it to none. */
void thread_table_append_run(struct thread_table *t, thread_id id, const struct run *run);
/* Keeps the thread's counts as of AT_NS; of many it keeps every second. */
void thread_table_mark_counts(struct thread_table *t, thread_id id, int64_t at_ns);
/* NOW_NS of the time have passed: what is older than KEEP_NS, which is set, loses its order, as
 * soon as that is a quarter of it. */
void thread_table_age(struct thread_table *t, int64_t now_ns);
/* Shares the counts of each process's threads over their runs (weights.h). */
void thread_table_scale_weights(struct thread_table *t);
/* ID's time line ends here; its id may be another thread's from now on. */
void thread_table_end(struct thread_table *t, thread_id id);
/* ID stands for no thread from now on, and may be another's. */
void thread_table_forget(struct thread_table *t, thread_id id);
void thread_table_release(struct thread_table *t);
