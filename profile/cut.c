#include "profile/cut.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/share.h"
#include "profile/profile_private.h"

struct cutting {
    struct profile *p;
    int64_t from_ns, to_ns;
    double time; /* the window's share of the whole */
    bool to_end;
    struct profile_cut *ret;
};
/* Parts that are left of what the kernel counted; 1 if nothing was. */
struct parts {
    double time, cpu, faults, switches;
};
/* Sums over the threads of a process, before and within the window. */
struct sums {
    double cpu[2], faults[2], switches[2];
};

/* ---- the kernel's counts ---- */

/* T's runs of KIND in [FROM_NS, TO_NS). */
static int64_t sampled_ns(const struct profile_thread *t, enum counted kind, int64_t from_ns,
                          int64_t to_ns)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->n_runs && t->runs[i].start_ns < to_ns; i++) {
        const struct run *run = &t->runs[i];
        int64_t part = min_i64(run_end_ns(run), to_ns) - max_i64(run->start_ns, from_ns);
        if (part > 0 && run_counted(run) == kind)
            ns += part;
    }
    return ns;
}

/* Two marks of T, its ends included, with AT_NS between. */
struct between {
    struct count_mark before, after;
};

static struct between marks_at(const struct profile_thread *t, int64_t at_ns)
{
    struct between ret = {.before = {.at_ns = t->start_ns},
                          .after = {.at_ns = t->end_ns, .counts = t->counts}};
    for (size_t i = 0; i < t->n_marks; i++) {
        if (t->marks[i].at_ns > at_ns) {
            ret.after = t->marks[i];
            break;
        }
        ret.before = t->marks[i];
    }
    return ret;
}

/* What of KIND was counted until AT_NS: between two marks the samples of its state tell, and time
 * where there are none. */
static int64_t counted_until(const struct profile_thread *t, const struct between *b,
                             enum counted kind, int64_t at_ns)
{
    int64_t count = b->after.counts.ns[kind] - b->before.counts.ns[kind];
    int64_t all_ns = sampled_ns(t, kind, b->before.at_ns, b->after.at_ns);
    if (at_ns <= t->start_ns)
        return 0;
    if (at_ns >= t->end_ns)
        return t->counts.ns[kind];
    double part = all_ns > 0 ? share_of(sampled_ns(t, kind, b->before.at_ns, at_ns), all_ns)
                             : share_of(at_ns - b->before.at_ns, b->after.at_ns - b->before.at_ns);
    return b->before.counts.ns[kind] + (int64_t)(part * (double)count);
}

static struct counts counts_until(const struct profile_thread *t, int64_t at_ns)
{
    struct between b = marks_at(t, at_ns);
    struct counts ret;
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        ret.ns[kind] = counted_until(t, &b, (enum counted)kind, at_ns);
    return ret;
}

static struct counts counts_minus(const struct counts *a, const struct counts *b)
{
    struct counts ret;
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        ret.ns[kind] = a->ns[kind] - b->ns[kind];
    return ret;
}

static int64_t active_ns(const struct counts *counts)
{
    return max_i64(counts->ns[COUNTED_CPU], 0) + max_i64(counts->ns[COUNTED_RUNQUEUE], 0);
}

/* What of the counts between FROM and TO, two edges, is not between marks that the window has. */
static int64_t by_samples_ns(const struct profile_thread *t, const struct cutting *c,
                             const struct counts *from, const struct counts *to)
{
    struct counts all = counts_minus(to, from);
    const struct counts none = {0};
    const struct counts *first = c->from_ns <= t->start_ns ? &none : NULL;
    const struct counts *last = c->to_ns >= t->end_ns ? &t->counts : NULL;
    for (size_t i = 0; i < t->n_marks; i++) {
        if (t->marks[i].at_ns < c->from_ns || t->marks[i].at_ns > c->to_ns)
            continue;
        first = first ? first : &t->marks[i].counts;
        last = c->to_ns >= t->end_ns ? last : &t->marks[i].counts;
    }
    if (!first || !last)
        return active_ns(&all);
    struct counts exact = counts_minus(last, first);
    return max_i64(active_ns(&all) - active_ns(&exact), 0);
}

/* Keeps the marks within the window, counted from FROM on. */
static void cut_marks(struct profile_thread *t, const struct cutting *c, const struct counts *from)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_marks; i++) {
        const struct count_mark *mark = &t->marks[i];
        if (mark->at_ns > c->from_ns && mark->at_ns < c->to_ns)
            t->marks[n++] =
                (struct count_mark){mark->at_ns - c->from_ns, counts_minus(&mark->counts, from)};
    }
    t->n_marks = n;
}

/* ---- runs ---- */

/* PART: of 1. */
static uint64_t part_of(uint64_t n, double part)
{
    double ret = (double)n * part + 0.5;
    return ret < (double)n ? (uint64_t)ret : n;
}

static int64_t part_of_ns(int64_t ns, double part)
{
    return (int64_t)((double)ns * part + (ns < 0 ? -0.5 : 0.5));
}

/* None of some is still one: the run was seen. */
static uint64_t part_of_some(uint64_t n, double part)
{
    uint64_t ret = part_of(n, part);
    return n && !ret ? 1 : ret;
}

static struct run clipped(const struct run *run, int64_t start_ns, int64_t end_ns)
{
    struct run ret = *run;
    double part = run->weights.wall_ns > 0 ? share_of(end_ns - start_ns, run->weights.wall_ns) : 1;
    struct events *e = &ret.weights.events;
    ret.start_ns = start_ns;
    ret.weights.wall_ns = end_ns - start_ns;
    ret.samples = part_of_some(run->samples, part);
    ret.waits = (uint32_t)part_of_some(run->waits, part);
    e->near_faults = (uint32_t)part_of(e->near_faults, part);
    e->around_faults = (uint32_t)part_of(e->around_faults, part);
    e->put_on_cpu = (uint32_t)part_of(e->put_on_cpu, part);
    e->faults = (uint32_t)part_of(e->faults, part);
    e->switches = (uint32_t)part_of(e->switches, part);
    return ret;
}

static void cut_runs(struct profile_thread *t, const struct cutting *c)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        int64_t start_ns = max_i64(run->start_ns, c->from_ns);
        int64_t end_ns = min_i64(run_end_ns(run), c->to_ns);
        bool empty =
            run->weights.wall_ns == 0 && run->start_ns >= c->from_ns && run->start_ns < c->to_ns;
        if (start_ns >= end_ns && !empty)
            continue;
        t->runs[n] = clipped(run, start_ns, end_ns);
        t->runs[n++].start_ns -= c->from_ns;
    }
    t->n_runs = n;
}

/* ---- what has no marks ---- */

static double sum_faults(const struct profile_thread *t)
{
    double n = 0;
    for (size_t i = 0; i < t->n_runs; i++)
        n += t->runs[i].weights.events.faults;
    return n;
}

static double sum_switches(const struct profile_thread *t)
{
    double n = 0;
    for (size_t i = 0; i < t->n_runs; i++)
        n += t->runs[i].weights.events.switches;
    return n;
}

/* NONE: where there is nothing to go by. */
static double part(const double sums[2], double none)
{
    double ret = sums[0] > 0 ? sums[1] / sums[0] : none;
    return ret < 1 ? ret : 1;
}

static struct parts parts_of(const struct sums *s, double time)
{
    return (struct parts){.time = time,
                          .cpu = part(s->cpu, time),
                          .faults = part(s->faults, time),
                          .switches = part(s->switches, time)};
}

static void cut_usage(struct profile_usage *u, const struct parts *parts)
{
    u->over_ns = part_of_ns(u->over_ns, parts->time);
    u->user_ns = part_of_ns(u->user_ns, parts->cpu);
    u->system_ns = part_of_ns(u->system_ns, parts->cpu);
    u->minor_faults = part_of(u->minor_faults, parts->faults);
    u->major_faults = part_of(u->major_faults, parts->faults);
    u->voluntary = part_of(u->voluntary, parts->switches);
    u->involuntary = part_of(u->involuntary, parts->switches);
    u->reads = part_of(u->reads, parts->cpu);
    u->writes = part_of(u->writes, parts->cpu);
    u->read_bytes = part_of(u->read_bytes, parts->cpu);
    u->written_bytes = part_of(u->written_bytes, parts->cpu);
}

static void cut_children(const struct cutting *c, process_id id)
{
    const struct profile_process *process = profile_see_process(c->p, id);
    struct profile_child *children = xcalloc(process->n_children, sizeof *children);
    for (size_t i = 0; i < process->n_children; i++) {
        children[i] = process->children[i];
        children[i].cpu_ns = part_of_ns(children[i].cpu_ns, c->time);
    }
    profile_set_children(c->p, id, children, process->n_children);
    free(children);
}

static void cut_process(const struct cutting *c, process_id id, const struct sums *sums)
{
    struct profile_process *process = profile_get_process(c->p, id);
    struct profile_cpu_limits *limits = &process->cpu_limits;
    struct parts parts = parts_of(sums, c->time);
    cut_usage(&process->usage, &parts);
    cut_children(c, id);
    limits->periods = part_of(limits->periods, c->time);
    limits->throttled_periods = part_of(limits->throttled_periods, c->time);
    limits->throttled_ns = part_of_ns(limits->throttled_ns, c->time);
    if (limits->throttled_above_ns > 0) /* −1: unknown */
        limits->throttled_above_ns = part_of_ns(limits->throttled_above_ns, c->time);
    process->memory_limit.reached = part_of(process->memory_limit.reached, c->time);
    process->net.listen_overflows = part_of(process->net.listen_overflows, c->time);
    process->net.syn_repeats = part_of(process->net.syn_repeats, c->time);
    process->children_cpu_ns = part_of_ns(process->children_cpu_ns, c->time);
    if (!c->to_end)
        process->threads = 0;
}

static void cut_pressure(const struct cutting *c, struct profile_pressure *pressure)
{
    pressure->some_ns = part_of_ns(pressure->some_ns, c->time);
    pressure->full_ns = part_of_ns(pressure->full_ns, c->time);
}

static void cut_host(const struct cutting *c)
{
    struct profile_host *h = profile_get_host(c->p);
    struct profile_machine *m = &h->machine;
    int64_t *const times[] = {&h->over_ns,   &h->busy_ns,       &h->interrupts_ns,
                              &h->stolen_ns, &h->wallspy_ns,    &h->recorded_ns,
                              &h->others_ns, &h->busiest.cpu_ns};
    uint64_t *const counts[] = {&m->starts,      &m->swap_ins,    &m->swap_outs,
                                &m->numa_marked, &m->numa_faults, &m->numa_faults_local,
                                &m->numa_moved};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] = part_of_ns(*times[i], c->time);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = part_of(*counts[i], c->time);
    cut_pressure(c, &m->cpu_pressure);
    cut_pressure(c, &m->memory_pressure);
}

/* ---- threads ---- */

/* Since when T has not run at the window's end. */
static int64_t still_since_ns(const struct profile_thread *t, const struct cutting *c)
{
    const struct run *last = &t->runs[t->n_runs - 1];
    int64_t end_ns = c->to_ns - c->from_ns;
    if (t->still_since_ns < c->to_ns)
        return max_i64(t->still_since_ns - c->from_ns, 0);
    return last->state == RUN_BLOCKED && last->waits == 1 ? last->start_ns : end_ns;
}

static void cut_thread(struct profile_thread *t, const struct cutting *c, struct sums *of_process)
{
    struct counts from = counts_until(t, c->from_ns);
    struct counts to = counts_until(t, c->to_ns);
    double lived_ns = (double)(t->end_ns - t->start_ns);
    struct sums sums = {.cpu = {(double)active_ns(&t->counts)},
                        .faults = {sum_faults(t)},
                        .switches = {sum_switches(t)}};
    c->ret->by_samples_ns += by_samples_ns(t, c, &from, &to);
    cut_marks(t, c, &from);
    cut_runs(t, c);
    t->ended = t->ended && t->end_ns <= c->to_ns;
    t->still_since_ns = t->n_runs ? still_since_ns(t, c) : 0;
    t->start_ns = max_i64(t->start_ns - c->from_ns, 0);
    t->end_ns = max_i64(min_i64(t->end_ns, c->to_ns) - c->from_ns, t->start_ns);
    t->counts = counts_minus(&to, &from);
    c->ret->counted_ns += active_ns(&t->counts);
    sums.cpu[1] = (double)active_ns(&t->counts);
    sums.faults[1] = sum_faults(t);
    sums.switches[1] = sum_switches(t);
    double time = lived_ns > 0 ? (double)(t->end_ns - t->start_ns) / lived_ns : 1;
    struct parts parts = parts_of(&sums, time);
    uint64_t own = min_u64(t->own_switches, t->usage.voluntary); /* they are in no run */
    t->usage.voluntary -= own;
    cut_usage(&t->usage, &parts);
    t->own_switches = part_of(own, time);
    t->usage.voluntary += t->own_switches;
    for (int i = 0; i < 2; i++) {
        of_process->cpu[i] += sums.cpu[i];
        of_process->faults[i] += sums.faults[i];
        of_process->switches[i] += sums.switches[i];
    }
}

static bool is_within(const struct profile_thread *t, const struct cutting *c)
{
    return t->start_ns >= c->from_ns && t->end_ns <= c->to_ns;
}

/* Sums over ended threads have no order in time. */
static void cut_folded(struct profile_thread *t, const struct cutting *c)
{
    if (!is_within(t, c)) {
        c->ret->folded += t->n_folded;
        t->n_runs = 0;
        return;
    }
    t->start_ns -= c->from_ns;
    t->end_ns -= c->from_ns;
    for (size_t i = 0; i < t->n_runs; i++)
        t->runs[i].start_ns = max_i64(t->runs[i].start_ns - c->from_ns, 0);
}

static void cut_threads(const struct cutting *c, struct sums *by_process)
{
    for (uint32_t i = 1; i <= profile_thread_count(c->p); i++) {
        struct profile_thread *t = profile_get_thread(c->p, (thread_id){i});
        if (!t->process.ix)
            continue;
        bool folded = t->n_folded > 0;
        c->ret->threads += t->n_runs && !folded;
        bool had_runs = t->n_runs && !folded;
        if (folded)
            cut_folded(t, c);
        else
            cut_thread(t, c, &by_process[t->process.ix]);
        c->ret->left_out += had_runs && !t->n_runs;
        if (!t->n_runs)
            thread_table_forget(&c->p->threads, (thread_id){i});
    }
}

/* ---- the whole ---- */

/* Windows of exact time lie at even distances from the old origin: the newest ones stay known. */
static struct exact_time cut_exact(const struct exact_time *e, const struct cutting *c)
{
    struct exact_time ret = {.step_ns = e->step_ns};
    int64_t until_ns;
    if (exact_time_has(e, c->from_ns, &until_ns) && until_ns >= c->to_ns)
        ret.step_ns = 0;
    if (ret.step_ns)
        ret.since_ns = max_i64(e->since_ns - c->from_ns, 0);
    return ret;
}

static int64_t step_at_edges(const struct exact_time *e, const struct cutting *c)
{
    int64_t until_ns;
    bool exact = (c->from_ns == 0 || exact_time_has(e, c->from_ns, &until_ns)) &&
                 (c->to_end || exact_time_has(e, c->to_ns, &until_ns));
    return exact ? 0 : e->step_ns;
}

static void move_origin(const struct cutting *c)
{
    struct profile_origin *origin = &c->p->origin;
    char started[CLOCK_UTC_BYTES];
    int64_t passed_ns = profile_utc_of(c->p, c->from_ns) - origin->utc_ns; /* with pauses */
    origin->monotonic_ns += origin->monotonic_ns ? passed_ns : 0;
    if (!origin->utc_ns)
        return;
    origin->utc_ns += passed_ns;
    clock_utc_text_of(origin->utc_ns, started);
    profile_set_text(c->p, "started", started);
}

void profile_cut(struct profile *p, int64_t from_ns, int64_t to_ns, struct profile_cut *ret)
{
    struct cutting c = {.p = p,
                        .from_ns = from_ns,
                        .to_ns = to_ns,
                        .time = share_of(to_ns - from_ns, p->end_ns),
                        .to_end = to_ns >= p->end_ns,
                        .ret = ret};
    struct sums *by_process = xcalloc(p->n_processes + 1, sizeof *by_process);
    *ret = (struct profile_cut){.step_ns = step_at_edges(&p->threads.exact, &c)};
    cut_threads(&c, by_process);
    for (uint32_t i = 1; i <= p->n_processes; i++)
        cut_process(&c, (process_id){i}, &by_process[i]);
    free(by_process);
    cut_host(&c);
    if (!c.to_end)
        profile_forget_task_waits(p);
    p->threads.exact = cut_exact(&p->threads.exact, &c);
    p->end_ns = to_ns - from_ns;
    move_origin(&c);
    profile_cut_moments(p, from_ns, to_ns);
    thread_table_scale_weights(&p->threads);
    profile_set_number(p, METRIC_TIME_STEP_S, (double)p->threads.exact.step_ns / NS_PER_S);
}
