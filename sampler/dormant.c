#include "sampler/dormant.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum {
    DORMANT_AFTER_TICKS = 16, /* a thread that runs now and then is better visited by itself */
    DORMANT_AFTER_MS = 2000,  /* and no less: the clock misses the begin of its next run */
    VISIT_EVERY_TICKS = 64,   /* each dormant thread: the worker may want more of it */
    LEAST_DORMANT = 4,        /* and no less than are visited: fewer do not pay */
    MEASURE_TRIES = 4, /* a visited thread may run, or the scheduler's clock tick, meanwhile */
    FAILURES_AT_ONCE = 4,
    PAUSE_TICKS = 32, /* after so many failures */
};

void dormant_open(struct dormant *d, pid_t pid)
{
    d->usable = clock_getcpuclockid(pid, &d->clock) == 0;
}

void dormant_close(struct dormant *d)
{
    free(d->visited);
    d->visited = NULL;
}

/* ---- which threads are dormant ---- */

static void append_visited(struct dormant *d, struct thread *t)
{
    d->visited = array_reserve(d->visited, &d->capacity, d->n_visited + 1, sizeof(struct thread *));
    t->visited_at = d->n_visited;
    d->visited[d->n_visited++] = t;
}

void dormant_add(struct thread *t)
{
    t->moved_tick = t->process->dormant.tick;
    t->process->dormant.disturbed = true;
    append_visited(&t->process->dormant, t);
}

void dormant_remove(struct thread *t)
{
    struct dormant *d = &t->process->dormant;
    if (t->dormant) {
        d->n_dormant--;
        d->known = false;
    }
    size_t i = t->visited_at;
    if (i >= d->n_visited || d->visited[i] != t) /* dormant, or a zombie */
        return;
    d->visited[i] = d->visited[--d->n_visited];
    d->visited[i]->visited_at = i;
}

void dormant_note_run(struct thread *t)
{
    t->moved_tick = t->process->dormant.tick;
    t->process->dormant.disturbed |= t->dormant;
}

void dormant_update(struct thread *t)
{
    const struct dormant *d = &t->process->dormant;
    if (!t->dormant || t->proofs == d->proofs)
        return;
    claim_extend(t, d->until_ns, d->proofs - t->proofs);
    t->proofs = d->proofs;
}

static uint32_t dormant_after_ticks(const struct sampler *s)
{
    int64_t ticks = (int64_t)DORMANT_AFTER_MS * NS_PER_MS / s->interval_ns;
    return ticks > DORMANT_AFTER_TICKS ? (uint32_t)ticks : DORMANT_AFTER_TICKS;
}

static bool has_slept(const struct thread *t, uint32_t ticks)
{
    return t->sampled.provable && !t->pending && !t->zombie &&
           t->process->dormant.tick - t->moved_tick >= ticks;
}

static void note_sleepers(const struct sampler *s, struct process *p)
{
    struct dormant *d = &p->dormant;
    uint32_t after_ticks = dormant_after_ticks(s);
    for (size_t i = 0; i < d->n_visited && d->known; i++)
        d->known = !has_slept(d->visited[i], after_ticks);
}

/* Does it pay to have P's sleepers proven by the clock? */
static bool pays(const struct sampler *s, const struct process *p, uint32_t after_ticks)
{
    size_t n_sleepers = 0;
    size_t n_others = 0;
    if (!p->dormant.usable || !s->can.schedstat || s->config.single_shot || s->config.filter.n)
        return false;
    for (size_t i = 0; i < p->n_threads; i++) {
        bool slept = has_slept(p->threads[i], after_ticks);
        n_sleepers += slept;
        n_others += !slept && !p->threads[i]->zombie;
    }
    return n_sleepers >= LEAST_DORMANT && n_sleepers >= n_others;
}

static void choose(const struct sampler *s, struct process *p)
{
    struct dormant *d = &p->dormant;
    uint32_t after_ticks = dormant_after_ticks(s);
    bool any = pays(s, p, after_ticks);
    bool same = true;
    d->n_visited = d->n_dormant = 0;
    for (size_t i = 0; i < p->n_threads; i++) {
        struct thread *t = p->threads[i];
        bool dormant = any && has_slept(t, after_ticks);
        same = same && dormant == t->dormant;
        t->dormant = dormant;
        t->proofs = d->proofs;
        d->n_dormant += dormant;
        if (!dormant && !t->zombie)
            append_visited(d, t);
    }
    /* No dormant thread ran from its sample to its visit, and so none when the clock was read. */
    d->known = same && d->measured && !d->disturbed;
    d->dormant_ns = d->measured_ns;
    d->visited_tick = d->tick;
    d->hook = process_hook(p);
}

void dormant_note_visits(const struct sampler *s, struct process *p, bool dormant_rest)
{
    if (dormant_rest)
        note_sleepers(s, p);
    else
        choose(s, p);
}

/* ---- the clock ---- */

static bool read_clock(const struct dormant *d, int64_t *ret_ns)
{
    struct timespec t;
    if (clock_gettime(d->clock, &t) != 0)
        return false;
    *ret_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
    return true;
}

/* The run times of all but the visited threads, at one moment.  Run times never fall: if their sum
 * is the same before and after the visited threads were read, none changed meanwhile. */
static bool measure(struct sampler *s, struct dormant *d)
{
    int64_t before_ns;
    int64_t after_ns;
    int64_t visited_ns = 0;
    if (!read_clock(d, &before_ns))
        return false;
    for (size_t i = 0; i < d->n_visited; i++) {
        struct schedstat sched;
        if (thread_read_schedstat(s, d->visited[i], &sched) < 0)
            return false;
        visited_ns += (int64_t)sched.run_ns;
    }
    d->measured_ns = before_ns - visited_ns;
    return read_clock(d, &after_ns) && after_ns == before_ns;
}

static void note_failure(struct dormant *d)
{
    if (++d->failures < FAILURES_AT_ONCE)
        return;
    d->failures = 0;
    d->tried_not_before = d->tick + PAUSE_TICKS;
}

bool dormant_unchanged(struct sampler *s, struct process *p)
{
    struct dormant *d = &p->dormant;
    int64_t now_ns = clock_now_ns();
    d->tick++;
    d->disturbed = d->measured = false;
    if (!d->n_dormant || (int32_t)(d->tick - d->tried_not_before) < 0)
        return false;
    for (int i = 0; i < MEASURE_TRIES && !d->measured; i++)
        d->measured = measure(s, d);
    if (!d->measured) {
        note_failure(d);
        return false;
    }
    if (!d->known || d->hook != process_hook(p) || d->tick - d->visited_tick >= VISIT_EVERY_TICKS)
        return false;
    if (d->measured_ns != d->dormant_ns) {
        note_failure(d);
        return false;
    }
    d->failures = 0;
    d->until_ns = now_ns;
    d->proofs++;
    counters_add(&s->counters, COUNT_REPEATS, d->n_dormant);
    counters_add(&s->counters, COUNT_DORMANT_PROVEN, 1);
    return true;
}
