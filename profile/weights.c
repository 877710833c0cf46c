#include "profile/weights.h"

#include "profile/thread.h"

enum {
    POOLED_BELOW = 10, /* running samples: fewer know a thread's CPU time worse than to a third */
};

static uint32_t sum_of(uint32_t a, uint32_t b)
{
    return a < UINT32_MAX - b ? a + b : UINT32_MAX;
}

static void add_events(struct events *sum, const struct events *e)
{
    sum->near_faults = sum_of(sum->near_faults, e->near_faults);
    sum->around_faults = sum_of(sum->around_faults, e->around_faults);
    sum->put_on_cpu = sum_of(sum->put_on_cpu, e->put_on_cpu);
    sum->faults = sum_of(sum->faults, e->faults);
    sum->switches = sum_of(sum->switches, e->switches);
}

void weights_add(struct weights *sum, const struct weights *w)
{
    sum->wall_ns += w->wall_ns;
    sum->counted_ns += w->counted_ns;
    add_events(&sum->events, &w->events);
}

enum counted run_counted(const struct run *run)
{
    switch (run->state) {
    case RUN_RUNNING:
    case RUN_RUNNING_OR_RUNNABLE:
        return COUNTED_CPU;
    case RUN_RUNNABLE:
        return COUNTED_RUNQUEUE;
    case RUN_BLOCKED:
    case RUN_STOPPED:
        return COUNTED_OFF_CPU;
    case RUN_MISSED:
        break;
    }
    return COUNTED_KINDS;
}

bool weight_is_time(enum weight weight)
{
    return weight != WEIGHT_FAULTS && weight != WEIGHT_SWITCHES;
}

static int64_t counted_if(const struct run *run, bool counts)
{
    return counts ? run->weights.counted_ns : 0;
}

int64_t run_weight(const struct run *run, enum weight weight)
{
    enum counted kind = run_counted(run);
    switch (weight) {
    case WEIGHT_WALL:
        return run->weights.wall_ns;
    case WEIGHT_CPU:
        return counted_if(run, kind == COUNTED_CPU);
    case WEIGHT_WAIT_CPU:
        return counted_if(run, kind == COUNTED_RUNQUEUE);
    case WEIGHT_OFF_CPU:
        return counted_if(run, kind == COUNTED_OFF_CPU);
    case WEIGHT_OFF:
        return counted_if(run, kind == COUNTED_RUNQUEUE || kind == COUNTED_OFF_CPU);
    case WEIGHT_FAULTS:
        return run->weights.events.faults;
    case WEIGHT_SWITCHES:
        return run->weights.events.switches;
    case WEIGHT_KINDS:
        break;
    }
    return 0;
}

/* The sums of the samples of one kind over some runs of a thread. */
struct sampled {
    int64_t wall_ns;
    uint64_t samples;
};

static struct sampled sum_runs(const struct profile_thread *t, size_t first, size_t last,
                               enum counted kind)
{
    struct sampled sum = {0};
    for (size_t i = first; i < last; i++)
        if (run_counted(&t->runs[i]) == kind) {
            sum.wall_ns += t->runs[i].weights.wall_ns;
            sum.samples += t->runs[i].samples;
        }
    return sum;
}

static void scale_runs(struct profile_thread *t, size_t first, size_t last, enum counted kind,
                       double factor)
{
    for (size_t i = first; i < last; i++)
        if (run_counted(&t->runs[i]) == kind)
            t->runs[i].weights.counted_ns =
                (int64_t)((double)t->runs[i].weights.wall_ns * factor + 0.5);
}

/* Runs [first, last) that share one factor, and what the kernel counted there. */
struct window {
    size_t first, last;
    int64_t counted_ns;
    struct sampled sampled;
};

static void scale_window(struct profile_thread *t, const struct window *w, enum counted kind)
{
    scale_runs(t, w->first, w->last, kind, (double)w->counted_ns / (double)w->sampled.wall_ns);
}

/* Moves W's end to the runs that begin before mark I; past the last mark: to the end. */
static void extend_window(struct window *w, const struct profile_thread *t, size_t i,
                          enum counted kind, int64_t before_ns)
{
    int64_t end_ns = i < t->n_marks ? t->marks[i].at_ns : INT64_MAX;
    const struct counts *counts = i < t->n_marks ? &t->marks[i].counts : &t->counts;
    size_t from = w->last;
    while (w->last < t->n_runs && t->runs[w->last].start_ns < end_ns)
        w->last++;
    struct sampled more = sum_runs(t, from, w->last, kind);
    w->sampled.wall_ns += more.wall_ns;
    w->sampled.samples += more.samples;
    w->counted_ns = counts->ns[kind] - before_ns;
}

/* Does W's last run go on behind mark I?  Then the count until there is not of W's runs alone. */
static bool is_open(const struct window *w, const struct profile_thread *t, size_t i)
{
    if (i == t->n_marks || w->last == 0)
        return false;
    const struct run *run = &t->runs[w->last - 1];
    return run_end_ns(run) > t->marks[i].at_ns;
}

/* Windows that are too small, or end within a run, are joined to the next; the last one to the one
 * before it. */
static void scale_thread(struct profile_thread *t, enum counted kind)
{
    struct window done = {0};
    struct window w = {0};
    int64_t before_ns = 0;
    for (size_t i = 0; i <= t->n_marks; i++) {
        extend_window(&w, t, i, kind, before_ns);
        if (w.sampled.samples < WEIGHTS_WINDOW || w.counted_ns < 0 || is_open(&w, t, i))
            continue;
        scale_window(t, &w, kind);
        before_ns += w.counted_ns;
        done = w;
        w = (struct window){.first = w.last, .last = w.last};
    }
    w.first = done.first;
    w.counted_ns = t->counts.ns[kind] - before_ns + done.counted_ns;
    w.counted_ns = w.counted_ns > 0 ? w.counted_ns : 0;
    w.sampled.wall_ns += done.sampled.wall_ns;
    if (w.sampled.wall_ns)
        scale_window(t, &w, kind);
    else
        t->not_sampled_ns[kind] = w.counted_ns;
}

static struct sampled sum_thread(const struct profile_thread *t, enum counted kind)
{
    return sum_runs(t, 0, t->n_runs, kind);
}

static void scale_pool(struct profile_thread *const *threads, size_t n, const struct window *pool)
{
    for (size_t i = 0; i < n; i++) {
        struct profile_thread *t = threads[i];
        if (sum_thread(t, COUNTED_CPU).samples >= POOLED_BELOW)
            continue;
        if (pool->sampled.wall_ns)
            scale_runs(t, 0, t->n_runs, COUNTED_CPU,
                       (double)pool->counted_ns / (double)pool->sampled.wall_ns);
        else
            t->not_sampled_ns[COUNTED_CPU] = t->counts.ns[COUNTED_CPU];
    }
}

void weights_scale(struct profile_thread *const *threads, size_t n)
{
    struct window pool = {0};
    for (size_t i = 0; i < n; i++) {
        struct profile_thread *t = threads[i];
        struct sampled running = sum_thread(t, COUNTED_CPU);
        for (int kind = 0; kind < COUNTED_KINDS; kind++)
            t->not_sampled_ns[kind] = 0;
        scale_thread(t, COUNTED_RUNQUEUE);
        scale_thread(t, COUNTED_OFF_CPU);
        if (running.samples >= POOLED_BELOW) {
            scale_thread(t, COUNTED_CPU);
            continue;
        }
        pool.counted_ns += t->counts.ns[COUNTED_CPU];
        pool.sampled.wall_ns += running.wall_ns;
    }
    scale_pool(threads, n, &pool);
}
