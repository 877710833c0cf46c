#include "exporter/path_timeline.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"

/* Drops zero and negative segments, because no viewer accepts them. */
static void add(struct path_timeline *l, uint32_t path, int64_t ns)
{
    if (ns <= 0)
        return;
    if (l->n && l->segments[l->n - 1].path == path) {
        l->segments[l->n - 1].ns += ns;
        return;
    }
    l->segments = array_reserve(l->segments, &l->capacity, l->n + 1, sizeof *l->segments);
    l->segments[l->n++] = (struct segment){path, ns};
}

/* The wall time of T on an axis that starts at 0 and ends at END_NS. */
static void add_whole_axis(struct path_timeline *l, const struct paths *paths,
                           const struct profile_thread *t, int64_t end_ns)
{
    int64_t at_ns = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        int64_t until_ns = min_i64(run_end_ns(run), end_ns);
        if (run->start_ns > at_ns) {
            int64_t gap_end_ns = run->start_ns < end_ns ? run->start_ns : end_ns;
            add(l, 0, gap_end_ns - at_ns);
            at_ns = gap_end_ns;
        }
        if (until_ns <= at_ns)
            continue;
        add(l, run->state == RUN_MISSED ? 0 : paths_of(paths, run->at), until_ns - at_ns);
        at_ns = until_ns;
    }
    add(l, 0, end_ns - at_ns);
}

/* The kernel's count of a state in which no sample found the thread. */
static void add_not_sampled(struct path_timeline *l, const struct paths *paths,
                            const struct profile_thread *t, enum weight weight)
{
    const int64_t *ns = t->not_sampled_ns;
    bool off = weight == WEIGHT_OFF;
    if (weight == WEIGHT_CPU)
        add(l, paths_cpu_not_sampled(paths), ns[COUNTED_CPU]);
    if (weight == WEIGHT_OFF_CPU || off)
        add(l, 0, ns[COUNTED_OFF_CPU]);
    if (weight == WEIGHT_WAIT_CPU || off)
        add(l, 0, ns[COUNTED_RUNQUEUE]);
    if (weight == WEIGHT_FAULTS)
        add(l, 0, (int64_t)t->faults_not_sampled);
    if (weight == WEIGHT_SWITCHES)
        add(l, 0, (int64_t)t->switches_not_sampled);
}

/* Events come while a thread runs: of one that was found waiting for a CPU, where it waited. */
static uint32_t path_of(const struct paths *paths, const struct run *run, enum weight weight)
{
    uint32_t path = run->state == RUN_MISSED ? 0 : paths_of(paths, run->at);
    if (!path || run->state != RUN_RUNNABLE || weight_is_time(weight))
        return path;
    const struct path_frame leaf = paths_see_frame(paths, paths_frame(paths, path));
    return leaf.waits && !leaf.spins ? paths_parent(paths, path) : path;
}

void path_timeline_add_thread(struct path_timeline *l, const struct paths *paths,
                              const struct profile_thread *t, enum weight weight, int64_t end_ns)
{
    if (end_ns) {
        assert(weight == WEIGHT_WALL);
        add_whole_axis(l, paths, t, end_ns);
        return;
    }
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        add(l, path_of(paths, run, weight), run_weight(run, weight));
    }
    add_not_sampled(l, paths, t, weight);
}

bool path_timeline_is_one_wait(struct paths *paths, const struct profile_thread *t)
{
    enum { PERCENT = 95 };
    struct path_sum *sums = paths_sums(paths);
    int64_t most_ns = 0;
    int64_t all_ns = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        all_ns += run->weights.wall_ns;
        if (run->state != RUN_BLOCKED)
            continue;
        int64_t *sum_ns = &sums[paths_of(paths, run->at)].self_ns;
        *sum_ns += run->weights.wall_ns;
        most_ns = max_i64(most_ns, *sum_ns);
    }
    for (size_t i = 0; i < t->n_runs; i++)
        sums[paths_of(paths, t->runs[i].at)].self_ns = 0;
    return most_ns / PERCENT >= all_ns / 100;
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    const struct paths *paths = ctx;
    uint32_t x = paths_rank(paths, ((const struct segment *)a)->path);
    uint32_t y = paths_rank(paths, ((const struct segment *)b)->path);
    return x < y ? -1 : x > y;
}

/* Sorts BUCKET and adds it to OUT; equal paths become one. */
static void flush_bucket(struct path_timeline *out, struct path_timeline *bucket,
                         const struct paths *paths)
{
    if (bucket->n)
        qsort_r(bucket->segments, bucket->n, sizeof *bucket->segments, by_rank,
                (void *)(uintptr_t)paths);
    for (size_t i = 0; i < bucket->n; i++)
        add(out, bucket->segments[i].path, bucket->segments[i].ns);
    bucket->n = 0;
}

void path_timeline_bucket(struct path_timeline *l, const struct paths *paths, int64_t bucket_ns)
{
    struct path_timeline out = {0};
    struct path_timeline bucket = {0};
    int64_t room_ns = bucket_ns;
    for (size_t i = 0; i < l->n; i++) {
        struct segment s = l->segments[i];
        while (s.ns >= room_ns) {
            add(&bucket, s.path, room_ns);
            flush_bucket(&out, &bucket, paths);
            s.ns -= room_ns;
            room_ns = bucket_ns;
            /* Whole buckets of one path, as before a thread's birth and after its death. */
            add(&out, s.path, s.ns - s.ns % bucket_ns);
            s.ns %= bucket_ns;
        }
        add(&bucket, s.path, s.ns);
        room_ns -= s.ns;
    }
    flush_bucket(&out, &bucket, paths);
    path_timeline_release(&bucket);
    path_timeline_release(l);
    *l = out;
}

/* The paths that a fold looks at: those of its segments, and their callers. */
struct touched {
    uint32_t *list;
    size_t n, capacity;
};

static void touch(struct touched *t, struct path_sum *sums, const struct paths *paths,
                  uint32_t path)
{
    for (; path && !sums[path].touched; path = paths_parent(paths, path)) {
        sums[path].touched = true;
        t->list = array_reserve(t->list, &t->capacity, t->n + 1, sizeof *t->list);
        t->list[t->n++] = path;
    }
}

static int descending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x > y ? -1 : x < y;
}

/* A parent has a smaller number than its children: callees come first. */
static void sort_touched(struct touched *t, const struct path_sum *sums, uint32_t n_paths)
{
    enum { SPARSE = 16 }; /* with more than one in so many, looking at all is quicker */
    if (!t->n)
        return;
    if (t->n < n_paths / SPARSE) {
        qsort(t->list, t->n, sizeof *t->list, descending);
        return;
    }
    t->n = 0;
    for (uint32_t path = n_paths; path; path--)
        if (sums[path].touched)
            t->list[t->n++] = path;
}

void path_timeline_fold(struct path_timeline *l, struct paths *paths, int64_t min_ns)
{
    struct path_sum *sums = paths_sums(paths);
    struct touched t = {0};
    for (size_t i = 0; i < l->n; i++) {
        struct path_sum *sum = &sums[l->segments[i].path];
        sum->self_ns += l->segments[i].ns;
        sum->total_ns += l->segments[i].ns;
        touch(&t, sums, paths, l->segments[i].path);
    }
    sort_touched(&t, sums, paths_count(paths));
    for (size_t i = 0; i < t.n; i++) {
        struct path_sum *sum = &sums[t.list[i]];
        uint32_t parent = paths_parent(paths, t.list[i]);
        if (!parent)
            continue;
        sums[parent].total_ns += sum->total_ns;
        if (sum->total_ns < min_ns) {
            sums[parent].self_ns += sum->self_ns;
            sum->self_ns = 0;
        }
    }
    l->n = 0;
    add(l, 0, sums[0].self_ns);
    sums[0] = (struct path_sum){0};
    while (t.n--) {
        add(l, t.list[t.n], sums[t.list[t.n]].self_ns);
        sums[t.list[t.n]] = (struct path_sum){0};
    }
    free(t.list);
    path_timeline_bucket(l, paths, INT64_MAX);
}

int64_t path_timeline_total_ns(const struct path_timeline *l)
{
    int64_t total_ns = 0;
    for (size_t i = 0; i < l->n; i++)
        total_ns += l->segments[i].ns;
    return total_ns;
}

void path_timeline_release(struct path_timeline *l)
{
    free(l->segments);
    *l = (struct path_timeline){0};
}
