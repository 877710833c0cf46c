#include "dump/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/proc.h"

enum {
    SETTLE_NS = 2 * NS_PER_MS, /* a thread needs a CPU before it is in its call again */
    SETTLE_TIMES = 10,
    BRACKET_NS = 50 * NS_PER_MS, /* behind a shot without looks */
    WORK_MS = 10,
};

static bool is_same_call(const struct dump_thread *t, const struct syscall_state *call)
{
    return call->number == t->syscall &&
           (call->number < 0 || memcmp(call->args, t->args, sizeof t->args) == 0);
}

/* Reads the counts of T, which was blocked, once it is in a call again.  False: not yet. */
static bool settle(struct dump_thread *t)
{
    struct syscall_state call;
    bool known = t->state == THREAD_BLOCKED && proc_syscall(t->pid, t->tid, &call) == 0;
    if (known && call.view != SYSCALL_BLOCKED)
        return false;
    if (proc_schedstat(t->pid, t->tid, &t->settled) < 0)
        t->settled = (struct schedstat){0};
    t->ran = known && !is_same_call(t, &call) && t->syscall != -2;
    return true;
}

void dump_look_settle(struct dump *d)
{
    size_t left = d->n;
    bool *settled = xcalloc(d->n + 1, sizeof *settled);
    for (int i = 0; i <= SETTLE_TIMES && left; i++) {
        if (i)
            clock_sleep(SETTLE_NS);
        for (size_t j = 0; j < d->n; j++)
            if (!settled[j] && (settled[j] = settle(&d->threads[j])))
                left--;
    }
    for (size_t j = 0; j < d->n; j++)
        d->threads[j].ran |= !settled[j]; /* it has moved on */
    free(settled);
}

/* ---- the looks ---- */

int64_t dump_look_run(struct recording *r, int64_t ns)
{
    const struct sampler_counters *counters = sampler_counters(recording_sampler(r));
    int64_t begun_ns = 0; /* when each thread had been looked at once */
    while (!sampler_done(recording_sampler(r)) && (!begun_ns || clock_now_ns() - begun_ns < ns)) {
        (void)recording_follow(r);
        recording_work_or_wait(r, WORK_MS);
        if (!begun_ns && counters_get(counters, COUNT_TICKS))
            begun_ns = clock_now_ns();
    }
    return begun_ns ? clock_now_ns() - begun_ns : 0;
}

/* ---- who ran ---- */

static bool is_zombie(const struct dump_thread *t)
{
    struct task_stat stat;
    return proc_stat(t->pid, t->tid, &stat) == 0 && stat.state == 'Z';
}

/* Of a thread that the shot has its last counts are those of before its stop. */
static void see_counts(struct dump_thread *t, bool looked, const struct schedstat *now)
{
    const struct schedstat *first = looked ? &t->first : &t->settled;
    const struct schedstat *last = looked && t->shot ? &t->last : now;
    t->counted = first->runs > 0 && last->runs > 0;
    if (!t->counted)
        return;
    t->ran |= last->runs != first->runs || last->run_ns != first->run_ns;
    t->cpu_ns = (int64_t)(last->run_ns - first->run_ns);
    t->queue_ns = (int64_t)(last->wait_ns - first->wait_ns);
}

static void see_end(struct dump_thread *t, bool looked)
{
    struct schedstat now = {0};
    int r = proc_schedstat(t->pid, t->tid, &now); /* -ENOENT: by the path, of one that is gone */
    t->ended = r == -ESRCH || r == -ENOENT;
    if (t->ended)
        now = t->last;
    see_counts(t, looked, &now);
    t->ran |= t->counted && (t->ended || t->born); /* who begins or ends runs */
    t->ended |= t->ran && is_zombie(t);
}

void dump_look_end(struct dump *d)
{
    bool looked = d->look_ns > 0;
    int64_t begun_ns = clock_now_ns();
    if (!looked) {
        clock_sleep(BRACKET_NS);
        d->look_ns = clock_now_ns() - begun_ns;
    }
    d->all_ran = true;
    for (size_t i = 0; i < d->n; i++) {
        struct dump_thread *t = &d->threads[i];
        see_end(t, looked);
        d->all_ran &= t->ran;
        d->any_ran |= t->ran || !t->counted || t->ended;
    }
}
