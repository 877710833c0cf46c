#include "summary/stalls.h"

#include "base/share.h"

enum { MISSED_NS = 30 * NS_PER_MS }; /* in a longer time without a sample it may well have come */

struct stalls stalls_begin(const struct profile_thread *t)
{
    int64_t slept = (int64_t)events_voluntary(t);
    int64_t put_on_cpu = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        if (run->state == RUN_BLOCKED)
            slept -= run->weights.events.put_on_cpu;
        else
            put_on_cpu += run->weights.events.put_on_cpu;
    }
    return (struct stalls){.slept = slept > 0 ? share_of(slept, put_on_cpu) : 0};
}

void stalls_add_away(struct stalls *s, const struct run *run)
{
    struct stall *now = &s->now;
    if (run->state == RUN_MISSED && run->weights.wall_ns > MISSED_NS) {
        now->samples = 0;
        now->start_ns = INT64_MAX; /* until it comes back: it may have been there */
    }
    now->samples += run->state == RUN_MISSED ? 0 : run->samples;
    now->runqueue_ns += run->state == RUN_RUNNABLE ? run->weights.wall_ns : 0;
    now->put_on_cpu += run->weights.events.put_on_cpu;
    now->blocks |= run->state == RUN_BLOCKED;
    bool just_wakes = run->at.stack.ix == s->home.ix; /* waits for a CPU, mostly */
    if (!s->began || run->state == RUN_MISSED || just_wakes)
        return;
    intervals_add_run(&s->away, run);
    s->samples_open += run->samples;
}

/* Has it slept once a tick or more often, and nowhere else as far as was seen?  Then it was there
 * between any two samples, for less time than samples need to find it. */
static bool has_been_back(const struct stalls *s, const struct stall *now)
{
    return !now->blocks && s->slept * (double)now->put_on_cpu >= (double)now->samples;
}

static void end_stall(struct stalls *s, const struct run *run)
{
    struct stall now = s->now;
    now.end_ns = run->start_ns;
    if (now.samples && now.start_ns < now.end_ns && stall_ns(&now) > stall_ns(&s->longest) &&
        !has_been_back(s, &now))
        s->longest = now;
    s->n = s->away.n;
    s->samples = s->samples_open;
}

void stalls_add_back(struct stalls *s, const struct run *run, bool home)
{
    if (s->began)
        end_stall(s, run);
    s->began |= home;
    s->home = home ? run->at.stack : s->home;
    s->now = (struct stall){.start_ns = run_end_ns(run)};
}

int64_t stall_ns(const struct stall *stall)
{
    return stall->end_ns - stall->start_ns;
}

size_t stalls_worst(const struct stalls *stalls, size_t n)
{
    size_t worst = 0;
    for (size_t i = 1; i < n; i++)
        worst = stall_ns(&stalls[i].longest) > stall_ns(&stalls[worst].longest) ? i : worst;
    return worst;
}

void stalls_release(struct stalls *s)
{
    intervals_release(&s->away);
    *s = (struct stalls){.n = 0};
}
