#include "recording/read_time.h"

#include "base/minmax.h"
#include "base/sort.h"

static const uint64_t most_samples = UINT64_C(1) << 40; /* of a run: three years at 10 kHz */
static const int64_t most_sum_ns = INT64_C(1) << 62;    /* of all runs, and of all counts */

static bool translate_thread(struct reader *r, uint32_t *id)
{
    uint64_t ix = 0;
    if (!*id || !map_get(&r->threads, *id, &ix))
        return *id ? rows_fail(&r->rows, "there is no thread %u", *id)
                   : rows_fail(&r->rows, "it is of no thread");
    *id = (uint32_t)ix;
    return true;
}

static bool sum_counts(struct reader *r, const struct counts *counts)
{
    for (int i = 0; i < COUNTED_KINDS; i++) {
        int64_t ns = counts->ns[i];
        r->counts_ns += ns < 0 ? -ns : ns; /* looks are not exact: a rest may be below 0 */
    }
    return r->counts_ns <= most_sum_ns || rows_fail(&r->rows, "more time than there is");
}

bool read_thread(struct reader *r, union item *item)
{
    struct profile_thread *t = &item->thread;
    if (!t->ended && !t->closed) /* in a growing file it has no end yet */
        t->end_ns = r->facts.end_ns;
    if (!reader_translate_one(r, TABLE_PROCESS, &t->process.ix) || !sum_counts(r, &t->counts) ||
        !reader_is_time(r, "start", t->start_ns) ||
        !reader_is_time(r, "end", t->end_ns - t->start_ns))
        return false;
    thread_id id = profile_thread(r->p, t->process, t->tid, t->name, t->start_ns);
    *profile_get_thread(r->p, id) = *t;
    map_put(&r->threads, r->rows.numbers[0], id.ix);
    return true;
}

bool read_count(struct reader *r, union item *item)
{
    uint32_t id = r->rows.numbers[0];
    if (!translate_thread(r, &id) || !reader_is_time(r, "at_ns", item->mark.at_ns))
        return false;
    struct profile_thread *t = profile_get_thread(r->p, (thread_id){id});
    struct counts whole = t->counts;
    if (t->n_marks && t->marks[t->n_marks - 1].at_ns > item->mark.at_ns)
        return rows_fail(&r->rows, "it is before the last one");
    t->counts = item->mark.counts;
    profile_mark_counts(r->p, (thread_id){id}, item->mark.at_ns);
    profile_get_thread(r->p, (thread_id){id})->counts = whole;
    return true;
}

/* Is RUN, checked, one of thread *RET_ID? */
static bool check_run(struct reader *r, struct run *run, uint32_t *ret_id)
{
    uint32_t id = r->rows.numbers[1];
    *ret_id = 0;
    run->at.stack.ix = r->rows.numbers[2];
    run->at.wait.ix = r->rows.numbers[3];
    if (!translate_thread(r, &id) || !reader_translate(r, TABLE_STACK, &run->at.stack.ix) ||
        !reader_translate(r, TABLE_WAIT, &run->at.wait.ix) ||
        !reader_is_time(r, "start", run->start_ns) ||
        !reader_is_time(r, "wall", run->weights.wall_ns))
        return false;
    if (run->samples > most_samples)
        return rows_fail(&r->rows, "samples is out of range");
    r->runs_ns += run->weights.wall_ns;
    if (r->runs_ns > most_sum_ns)
        return rows_fail(&r->rows, "more time than there is");
    *ret_id = id;
    return true;
}

bool read_run(struct reader *r, union item *item)
{
    uint32_t id;
    if (!check_run(r, &item->run, &id))
        return false;
    const struct profile_thread *t = profile_see_thread(r->p, (thread_id){id});
    if (t->n_runs && !t->n_folded && t->runs[t->n_runs - 1].start_ns > item->run.start_ns)
        return rows_fail(&r->rows, "it is before the last one");
    profile_append_run(r->p, (thread_id){id}, &item->run);
    return true;
}

/* ---- the newest time, as it came ---- */

/* Appends what RUN has of [FROM_NS, TO_NS). */
static void append_part(struct reader *r, uint32_t id, struct run *run, int64_t from_ns,
                        int64_t to_ns)
{
    int64_t start_ns = max_i64(run->start_ns, from_ns);
    int64_t wall_ns = min_i64(run_end_ns(run), to_ns) - start_ns;
    if (wall_ns <= 0)
        return;
    double part = (double)wall_ns / (double)run->weights.wall_ns;
    run->samples = (uint64_t)((double)run->samples * part);
    run->start_ns = start_ns;
    run->weights.wall_ns = wall_ns;
    profile_append_run(r->p, (thread_id){id}, run);
}

static int64_t recent_end_ns(const struct reader *r, uint32_t id)
{
    uint64_t end_ns = 0;
    (void)map_get(&r->recent_ends, id, &end_ns);
    return (int64_t)end_ns;
}

/* A run that was joined with others and then went on has time that the ones before it have, too. */
bool read_recent(struct reader *r, union item *item)
{
    uint32_t id;
    if (!check_run(r, &item->run, &id))
        return false;
    int64_t from_ns = max_i64(r->facts.recent_since_ns, recent_end_ns(r, id));
    int64_t end_ns = min_i64(run_end_ns(&item->run), r->facts.exact.since_ns);
    append_part(r, id, &item->run, from_ns, end_ns);
    map_put(&r->recent_ends, id, (uint64_t)max_i64(end_ns, from_ns));
    return true;
}

bool read_run_beside(struct reader *r, union item *item)
{
    uint32_t id;
    if (!check_run(r, &item->run, &id))
        return false;
    if (profile_see_thread(r->p, (thread_id){id})->n_folded)
        profile_append_run(r->p, (thread_id){id}, &item->run);
    else if (run_end_ns(&item->run) <= r->facts.exact.since_ns)
        append_part(r, id, &item->run, INT64_MIN, r->facts.recent_since_ns);
    else
        append_part(r, id, &item->run, recent_end_ns(r, id), INT64_MAX);
    return true;
}

static int by_start(const void *a, const void *b)
{
    int64_t x = ((const struct run *)a)->start_ns;
    int64_t y = ((const struct run *)b)->start_ns;
    return x < y ? -1 : x > y;
}

void read_time_sort(struct reader *r)
{
    for (uint32_t i = 1; i <= profile_thread_count(r->p); i++) {
        struct profile_thread *t = profile_get_thread(r->p, (thread_id){i});
        if (!t->n_folded)
            sort_if_needed(t->runs, t->n_runs, sizeof *t->runs, by_start);
    }
}
