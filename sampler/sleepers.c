#include "sampler/sleepers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/look.h"
#include "sampler/state.h"

enum {
    ASLEEP_AFTER_TICKS = 16, /* threads that wake now and then are better read each by itself */
    LOOK_EVERY_TICKS = 64,   /* at each sleeper: the worker may want more of it */
    LEAST_ASLEEP = 16,       /* and no less than are awake: else it does not pay */
    MEASURE_TRIES =
        4, /* a scheduler's tick or a switch of a thread that is awake may come between */
    FAILURES_AT_ONCE = 4,
    PATIENCE_TICKS = 32, /* after that many failures */
};

void sleepers_open(struct sleepers *sleepers, pid_t pid)
{
    sleepers->usable = clock_getcpuclockid(pid, &sleepers->clock) == 0;
}

void sleepers_close(struct sleepers *sleepers)
{
    free(sleepers->awake);
    sleepers->awake = NULL;
}

/* ---- who is awake ---- */

static void append_awake(struct sleepers *sleepers, struct task *t)
{
    sleepers->awake = array_reserve(sleepers->awake, &sleepers->capacity, sleepers->n_awake + 1,
                                    sizeof(struct task *));
    sleepers->awake[sleepers->n_awake++] = t;
}

void sleepers_add(struct task *t)
{
    t->moved_tick = t->process->sleepers.tick;
    append_awake(&t->process->sleepers, t);
}

void sleepers_remove(struct task *t)
{
    struct sleepers *sleepers = &t->process->sleepers;
    if (t->asleep) {
        sleepers->n_asleep--;
        sleepers->known = false;
    }
    for (size_t i = 0; !t->asleep && i < sleepers->n_awake; i++)
        if (sleepers->awake[i] == t) {
            sleepers->awake[i] = sleepers->awake[--sleepers->n_awake];
            return;
        }
}

void sleepers_moved(struct task *t)
{
    t->moved_tick = t->process->sleepers.tick;
    t->process->sleepers.disturbed |= t->asleep;
}

void sleepers_settle(struct task *t)
{
    const struct sleepers *sleepers = &t->process->sleepers;
    if (!t->asleep || t->proofs == sleepers->proofs)
        return;
    t->until_ns = sleepers->until_ns;
    t->repeats += sleepers->proofs - t->proofs;
    t->proofs = sleepers->proofs;
}

void sleepers_choose(struct process *p)
{
    struct sleepers *sleepers = &p->sleepers;
    bool same = true;
    sleepers->n_awake = sleepers->n_asleep = 0;
    for (size_t i = 0; i < p->n_tasks; i++) {
        struct task *t = p->tasks[i];
        bool asleep = t->repeatable && !t->pending && !t->zombie &&
                      sleepers->tick - t->moved_tick >= ASLEEP_AFTER_TICKS;
        same = same && asleep == t->asleep;
        t->asleep = asleep;
        t->proofs = sleepers->proofs;
        sleepers->n_asleep += asleep;
        if (!asleep && !t->zombie)
            append_awake(sleepers, t);
    }
    /* None has run between its sample and its visit, and so none had when the clock was read. */
    sleepers->known = same && sleepers->measured && !sleepers->disturbed;
    sleepers->asleep_ns = sleepers->measured_ns;
    sleepers->looked_tick = sleepers->tick;
    sleepers->hook = process_hook(p);
}

/* ---- the clock ---- */

static bool read_clock(const struct sleepers *sleepers, int64_t *ret_ns)
{
    struct timespec t;
    if (clock_gettime(sleepers->clock, &t) != 0)
        return false;
    *ret_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
    return true;
}

/* The run times of all that are not awake, at one moment: run times never fall, so if their sum is the same
 * before and after the others were read, none changed between. */
static bool measure(struct sampler *s, struct sleepers *sleepers)
{
    int64_t before_ns;
    int64_t after_ns;
    int64_t awake_ns = 0;
    if (!read_clock(sleepers, &before_ns))
        return false;
    for (size_t i = 0; i < sleepers->n_awake; i++) {
        struct schedstat sched;
        if (look_counts(s, sleepers->awake[i], &sched) < 0)
            return false;
        awake_ns += (int64_t)sched.run_ns;
    }
    sleepers->measured_ns = before_ns - awake_ns;
    return read_clock(sleepers, &after_ns) && after_ns == before_ns;
}

static bool pays(const struct sampler *s, const struct sleepers *sleepers)
{
    return sleepers->usable && s->can.schedstat && !s->config.single_shot && !s->config.filter.n &&
           sleepers->n_asleep >= LEAST_ASLEEP && sleepers->n_asleep >= sleepers->n_awake &&
           (int32_t)(sleepers->tick - sleepers->tried_not_before) >= 0;
}

static void note_failure(struct sleepers *sleepers)
{
    if (++sleepers->failures < FAILURES_AT_ONCE)
        return;
    sleepers->failures = 0;
    sleepers->tried_not_before = sleepers->tick + PATIENCE_TICKS;
}

bool sleepers_undisturbed(struct sampler *s, struct process *p)
{
    struct sleepers *sleepers = &p->sleepers;
    int64_t now_ns = clock_now_ns();
    sleepers->tick++;
    sleepers->disturbed = sleepers->measured = false;
    if (!pays(s, sleepers))
        return false;
    for (int i = 0; i < MEASURE_TRIES && !sleepers->measured; i++)
        sleepers->measured = measure(s, sleepers);
    if (!sleepers->measured) {
        note_failure(sleepers);
        return false;
    }
    if (!sleepers->known || sleepers->hook != process_hook(p) ||
        sleepers->tick - sleepers->looked_tick >= LOOK_EVERY_TICKS)
        return false;
    if (sleepers->measured_ns != sleepers->asleep_ns) {
        note_failure(sleepers);
        return false;
    }
    sleepers->failures = 0;
    sleepers->until_ns = now_ns;
    sleepers->proofs++;
    counters_add(&s->counters, COUNT_REPEATS, sleepers->n_asleep);
    counters_add(&s->counters, COUNT_SLEEPERS_PROVEN, 1);
    return true;
}
