#include "profile/thread_table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/text.h"
#include "profile/runs.h"

enum {
    LEAST_ROOM = 8,         /* runs; then an eighth more at a time */
    BYTES_PER_ENDED = 4096, /* of the limit; in a file each thread has a row of 400 bytes */
    MAX_SUMS = 1000,        /* names that are kept apart */
    FIRST_MARKS = 4,
    MAX_MARKS = 256,       /* windows of a thread: some 10 KiB */
    LAST_STEP_S = 1 << 24, /* half a year */
    PLAIN_STEP_S = 64,     /* from such a step on waits lose their other sides */
    MOST_EVERY = 1 << 20,  /* windows, of which one is exact: some 100 days */
};
static const int64_t first_step_ns = NS_PER_S;
static const int64_t most_newest_ns = INT64_C(600) * NS_PER_S; /* exact, where there is room */
static const char others[] = "others";

void thread_table_init(struct thread_table *t, size_t limit, struct strings *strings)
{
    *t = (struct thread_table){.limit = limit, .most_ended = limit / BYTES_PER_ENDED};
    t->strings = strings;
}

thread_id thread_table_add(struct thread_table *t, const struct profile_thread *thread)
{
    uint32_t ix;
    if (t->n_unused) {
        ix = t->unused[--t->n_unused];
    } else {
        t->items = array_reserve(t->items, &t->capacity, t->n + 1, sizeof *t->items);
        ix = (uint32_t)++t->n;
    }
    t->items[ix - 1] = *thread;
    t->items[ix - 1].born = t->items[ix - 1].remade = ++t->remade;
    return (thread_id){ix};
}

struct profile_thread *thread_table_get(const struct thread_table *t, thread_id id)
{
    assert(id.ix && id.ix <= t->n);
    return &t->items[id.ix - 1];
}

/* ---- room ---- */

static size_t bytes(const struct thread_table *t)
{
    return t->run_bytes + t->n * sizeof *t->items;
}

static void set_capacity(struct thread_table *t, struct profile_thread *thread, size_t capacity)
{
    t->run_bytes -= thread->runs_capacity * sizeof *thread->runs;
    t->run_bytes += capacity * sizeof *thread->runs;
    if (capacity != thread->runs_capacity)
        thread->runs = xrealloc(thread->runs, capacity * sizeof *thread->runs);
    thread->runs_capacity = capacity;
}

static void set_mark_capacity(struct thread_table *t, struct profile_thread *thread,
                              size_t capacity)
{
    size_t had = thread->marks_capacity;
    t->run_bytes = t->run_bytes - had * sizeof *thread->marks + capacity * sizeof *thread->marks;
    if (capacity != had)
        thread->marks = xrealloc(thread->marks, capacity * sizeof *thread->marks);
    thread->marks_capacity = capacity;
}

static size_t next_capacity(const struct profile_thread *thread)
{
    size_t more = thread->runs_capacity / 8;
    return thread->runs_capacity + (more > LEAST_ROOM ? more : LEAST_ROOM);
}

static bool has_room(const struct thread_table *t, const struct profile_thread *thread)
{
    if (!t->limit || thread->n_runs < thread->runs_capacity)
        return true;
    size_t more = next_capacity(thread) - thread->runs_capacity;
    return bytes(t) + more * sizeof *thread->runs <= t->limit;
}

static void join_inexact(struct thread_table *t, struct profile_thread *thread)
{
    size_t had = thread->n_runs;
    if (had < 2)
        return;
    thread->n_runs = thread->n_folded ? runs_join(thread->runs, had, INT64_MAX)
                                      : runs_coarsen(thread->runs, had, &t->exact);
    if (thread->n_runs < had)
        thread->remade = ++t->remade;
    set_capacity(t, thread, thread->n_runs);
}

/* Within a step the order is lost, and with it what was counted until a mark. */
static void join_runs(struct thread_table *t, struct profile_thread *thread)
{
    thread->n_marks = 0;
    set_mark_capacity(t, thread, 0);
    join_inexact(t, thread);
}

/* Whom a program with ever new locks or processes waits for would make each run one of its own.
 * Exact time keeps it. */
static void make_waits_plain(struct thread_table *t)
{
    int64_t until_ns;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < t->items[i].n_runs; k++) {
            struct run *run = &t->items[i].runs[k];
            if (t->items[i].n_folded || !exact_time_has(&t->exact, run->start_ns, &until_ns))
                run->at.wait = t->plain_wait(t->profile, run->at.wait);
        }
}

/* Where the newest run begins; only those of threads in order count. */
static int64_t newest_ns(const struct thread_table *t)
{
    int64_t newest = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct profile_thread *thread = &t->items[i];
        if (thread->n_runs && !thread->n_folded)
            newest = max_i64(newest, thread->runs[thread->n_runs - 1].start_ns);
    }
    return newest;
}

/* What the runs of exact time take. */
static size_t exact_bytes(const struct thread_table *t)
{
    size_t n = 0;
    int64_t until_ns;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; !t->items[i].n_folded && k < t->items[i].n_runs; k++)
            n += exact_time_has(&t->exact, t->items[i].runs[k].start_ns, &until_ns);
    return n * sizeof(struct run);
}

static size_t bytes_since(const struct thread_table *t, int64_t ns)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = t->items[i].n_runs;
             !t->items[i].n_folded && k && t->items[i].runs[k - 1].start_ns >= ns; k--)
            n++;
    return n * sizeof(struct run);
}

/* Three quarters of the newest time stay exact, and a window of it at least. */
static int64_t later_since_ns(const struct exact_time *e, int64_t newest_ns)
{
    int64_t most_ns = (newest_ns - e->since_ns) / 4 * 3;
    return max_i64(e->since_ns, newest_ns - max_i64(most_ns, exact_window_ns()));
}

/* NONE: there are no windows. */
static void thin_out_windows(struct exact_time *e, bool none)
{
    e->every = none || e->every > MOST_EVERY ? 0 : e->every * 2;
}

/* What is exact from now on: of the newest time, which is asked for most, what a quarter of the
 * limit has room for, and as many windows as an eighth has.  What is coarse stays so. */
static void choose_exact(struct thread_table *t, int64_t newest_ns)
{
    struct exact_time *e = &t->exact;
    if (!e->step_ns)
        *e = (struct exact_time){.step_ns = first_step_ns, .every = 1};
    e->since_ns = max_i64(e->since_ns, newest_ns - most_newest_ns);
    while (newest_ns - e->since_ns > exact_window_ns() &&
           bytes_since(t, e->since_ns) > t->limit / 4)
        e->since_ns = later_since_ns(e, newest_ns);
    while (exact_bytes(t) > t->limit / 8 * 3 && e->every)
        thin_out_windows(e, false);
    if (!e->every && exact_bytes(t) > t->limit / 8 * 3) /* of 10,000 threads a few seconds */
        e->since_ns = newest_ns;
}

/* ---- a ring ---- */

static void drop_marks_before(struct profile_thread *thread, int64_t ns)
{
    size_t n = 0;
    while (n < thread->n_marks && thread->marks[n].at_ns < ns)
        n++;
    thread->n_marks -= n;
    for (size_t i = 0; n && i < thread->n_marks; i++)
        thread->marks[i] = thread->marks[i + n];
}

/* What is before NS becomes sums. */
static void forget_order(struct thread_table *t, int64_t ns)
{
    t->exact =
        (struct exact_time){.step_ns = (int64_t)LAST_STEP_S * NS_PER_S,
                            .since_ns = max_i64(ns, t->exact.step_ns ? t->exact.since_ns : 0)};
    for (size_t i = 0; i < t->n; i++)
        if (!t->items[i].n_folded) {
            drop_marks_before(&t->items[i], t->exact.since_ns);
            join_inexact(t, &t->items[i]);
        }
}

void thread_table_age(struct thread_table *t, int64_t now_ns)
{
    int64_t late_ns = NS_PER_S; /* the end of the time lines may be before NOW_NS, by less */
    int64_t since_ns = t->exact.step_ns ? t->exact.since_ns : 0;
    int64_t before_ns = now_ns - t->keep_ns - late_ns;
    if (before_ns - since_ns >= t->keep_ns / 4)
        forget_order(t, before_ns);
}

/* Until half of the limit is free.  False: not even for a second is there so much room. */
static bool shorten_ring(struct thread_table *t, int64_t newest_ns)
{
    while (bytes(t) > t->limit / 2 && t->keep_ns / 2 >= NS_PER_S) {
        t->keep_ns /= 2;
        forget_order(t, newest_ns - t->keep_ns);
    }
    return bytes(t) <= t->limit / 2;
}

/* ---- coarser time lines ---- */

/* Joins what the step and the exact time let it.  Is half of the limit free by that? */
static bool join_all(struct thread_table *t)
{
    if (t->exact.step_ns / NS_PER_S >= PLAIN_STEP_S && t->plain_wait)
        make_waits_plain(t);
    for (size_t i = 0; i < t->n; i++)
        join_runs(t, &t->items[i]);
    return bytes(t) <= t->limit / 2;
}

/* Until half of the limit is free, so that this is not soon due again.  The runs since the last
 * time are still fine, so the present step is tried first.  Where a step of a minute does not make
 * room enough the windows go, too, and the newest time at last.  Different stacks stay different,
 * however long the step. */
static void coarsen(struct thread_table *t)
{
    int64_t newest = newest_ns(t);
    if (t->keep_ns && shorten_ring(t, newest))
        return;
    choose_exact(t, newest);
    while (!join_all(t) && t->exact.step_ns / NS_PER_S < LAST_STEP_S) {
        t->exact.step_ns *= 2;
        int64_t step_s = t->exact.step_ns / NS_PER_S;
        if (step_s > PLAIN_STEP_S)
            thin_out_windows(&t->exact, step_s >= LAST_STEP_S);
    }
    if (bytes(t) <= t->limit / 2)
        return;
    while (t->exact.since_ns < newest) {
        int64_t later_ns = later_since_ns(&t->exact, newest);
        t->exact.since_ns = later_ns > t->exact.since_ns ? later_ns : newest;
        if (join_all(t))
            return;
    }
    /* With room for much the runs that come fine can be joined again: what is refused is lost. */
    t->full = bytes(t) > t->limit / 8 * 7;
}

/* ---- runs ---- */

static bool joins_last(struct profile_thread *thread, const struct run *run)
{
    struct run *last = thread->n_runs ? &thread->runs[thread->n_runs - 1] : NULL;
    if (!last || !run_goes_on(last, run))
        return false;
    run_join(last, run);
    return true;
}

static void append(struct thread_table *t, struct profile_thread *thread, const struct run *run)
{
    if (thread->n_runs == thread->runs_capacity)
        set_capacity(t, thread, next_capacity(thread));
    assert(thread->runs);
    thread->runs[thread->n_runs++] = *run;
}

bool thread_table_add_run(struct thread_table *t, thread_id id, const struct run *run)
{
    struct profile_thread *thread = thread_table_get(t, id);
    if (joins_last(thread, run))
        return true;
    if (!has_room(t, thread) && !t->full)
        coarsen(t);
    if (!has_room(t, thread))
        return false;
    append(t, thread, run);
    return true;
}

void thread_table_force_run(struct thread_table *t, thread_id id, const struct run *run)
{
    struct profile_thread *thread = thread_table_get(t, id);
    struct run *last = thread->n_runs ? &thread->runs[thread->n_runs - 1] : NULL;
    if (last && spots_are_same(last->at, run->at)) {
        run_join(last, run);
        return;
    }
    if (thread->n_runs == thread->runs_capacity)
        set_capacity(t, thread, thread->runs_capacity + 1);
    append(t, thread, run);
}

void thread_table_append_run(struct thread_table *t, thread_id id, const struct run *run)
{
    append(t, thread_table_get(t, id), run);
}

/* ---- marks ---- */

/* Every second one is left. */
static void thin_out_marks(struct profile_thread *thread)
{
    thread->n_marks /= 2;
    for (size_t i = 0; i < thread->n_marks; i++)
        thread->marks[i] = thread->marks[2 * i + 1];
}

void thread_table_mark_counts(struct thread_table *t, thread_id id, int64_t at_ns)
{
    struct profile_thread *thread = thread_table_get(t, id);
    if (thread->n_marks == MAX_MARKS)
        thin_out_marks(thread);
    if (thread->n_marks == thread->marks_capacity)
        set_mark_capacity(t, thread, thread->n_marks ? thread->n_marks * 2 : FIRST_MARKS);
    thread->marks[thread->n_marks++] = (struct count_mark){at_ns, thread->counts};
}

static uint32_t last_process(const struct thread_table *t)
{
    uint32_t last = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].process.ix > last)
            last = t->items[i].process.ix;
    return last;
}

/* RET gets all threads, those of one process beside each other, as they are in T: process P's are
 * behind ENDS[P − 1], before ENDS[P]; ENDS has room for the LAST one. */
static void sort_by_process(const struct thread_table *t, uint32_t last, size_t *ends,
                            struct profile_thread **ret)
{
    size_t start = 0;
    for (size_t i = 0; i < t->n; i++)
        ends[t->items[i].process.ix]++;
    for (size_t p = 0; p <= last; p++) { /* to its beginning, which rises to its end */
        size_t n = ends[p];
        ends[p] = start;
        start += n;
    }
    for (size_t i = 0; i < t->n; i++)
        ret[ends[t->items[i].process.ix]++] = &t->items[i];
}

void thread_table_scale_weights(struct thread_table *t)
{
    uint32_t last = last_process(t);
    struct profile_thread **threads = xcalloc(t->n ? t->n : 1, sizeof *threads);
    size_t *ends = xcalloc(last + (size_t)1, sizeof *ends);
    sort_by_process(t, last, ends, threads);
    for (uint32_t p = 1; p <= last; p++) {
        weights_scale(threads + ends[p - 1], ends[p] - ends[p - 1]);
        for (size_t i = ends[p - 1]; i < ends[p]; i++)
            events_scale(threads[i]);
    }
    free(ends);
    free(threads);
}

/* ---- ended threads ---- */

void thread_table_forget(struct thread_table *t, thread_id id)
{
    struct profile_thread *thread = thread_table_get(t, id);
    set_capacity(t, thread, 0);
    set_mark_capacity(t, thread, 0);
    free(thread->runs);
    free(thread->marks);
    *thread = (struct profile_thread){0};
    t->unused = array_reserve(t->unused, &t->unused_capacity, t->n_unused + 1, sizeof *t->unused);
    t->unused[t->n_unused++] = id.ix;
}

/* The common name of threads like THREAD. */
static string_id shared_name(struct thread_table *t, const struct profile_thread *thread)
{
    struct text name = {0};
    text_add_group(&name, strings_text(t->strings, thread->name));
    string_id id = strings_add(t->strings, name.s, name.len);
    text_release(&name);
    return id;
}

/* The thread that stands for those like THREAD; a new one if there is none. */
static thread_id sum_for(struct thread_table *t, const struct profile_thread *thread)
{
    string_id name = shared_name(t, thread);
    uint64_t process = (uint64_t)thread->process.ix << 32;
    uint64_t ix;
    if (map_get(&t->sums, process | name.ix, &ix))
        return (thread_id){(uint32_t)ix};
    if (t->sums.n >= MAX_SUMS) {
        name = strings_add(t->strings, others, sizeof others - 1);
        if (map_get(&t->sums, process | name.ix, &ix))
            return (thread_id){(uint32_t)ix};
    }
    thread_id id = thread_table_add(t, &(struct profile_thread){.process = thread->process,
                                                                .name = name,
                                                                .ended = true,
                                                                .start_ns = thread->start_ns});
    map_put(&t->sums, process | name.ix, id.ix);
    return id;
}

static void fold(struct thread_table *t, uint32_t ix)
{
    thread_id id = sum_for(t, thread_table_get(t, (thread_id){ix}));
    struct profile_thread *sum = thread_table_get(t, id);
    const struct profile_thread *thread = thread_table_get(t, (thread_id){ix});
    sum->n_folded++;
    sum->lived_ns += thread->end_ns - thread->start_ns;
    sum->start_ns = thread->start_ns < sum->start_ns ? thread->start_ns : sum->start_ns;
    sum->end_ns = thread->end_ns > sum->end_ns ? thread->end_ns : sum->end_ns;
    sum->python |= thread->python;
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        sum->counts.ns[kind] += thread->counts.ns[kind];
    profile_usage_add(&sum->usage, &thread->usage);
    sum->own_switches += thread->own_switches;
    for (size_t i = 0; i < thread->n_runs; i++)
        append(t, sum, &thread->runs[i]);
    thread_table_forget(t, (thread_id){ix});
}

static void fold_older_half(struct thread_table *t)
{
    size_t n = t->n_ended / 2;
    for (size_t i = 0; i < n; i++)
        fold(t, t->ended[i]);
    for (size_t i = n; i < t->n_ended; i++)
        t->ended[i - n] = t->ended[i];
    t->n_ended -= n;
    t->n_folded += n;
    for (size_t i = 0; i < t->n; i++)
        if (t->items[i].n_folded)
            join_runs(t, &t->items[i]);
}

void thread_table_end(struct thread_table *t, thread_id id)
{
    struct profile_thread *thread = thread_table_get(t, id);
    bool gone = t->limit && thread->ended && !thread->main;
    if (gone && !thread->n_runs) {
        t->n_without_a_run++;
        thread_table_forget(t, id);
        return;
    }
    set_capacity(t, thread, thread->n_runs);
    if (!gone)
        return;
    t->ended = array_reserve(t->ended, &t->ended_capacity, t->n_ended + 1, sizeof *t->ended);
    t->ended[t->n_ended++] = id.ix;
    if (t->n_ended > t->most_ended)
        fold_older_half(t);
}

static void free_thread(struct profile_thread *thread)
{
    free(thread->runs);
    free(thread->marks);
}

void thread_table_release(struct thread_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free_thread(&t->items[i]);
    free(t->items);
    free(t->ended);
    free(t->unused);
    map_release(&t->sums);
    *t = (struct thread_table){0};
}
