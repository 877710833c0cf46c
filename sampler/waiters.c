#include "sampler/waiters.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "base/random.h"
#include "sampler/on_cpu.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum {
    LOOK_AGAIN_NS = 100 * NS_PER_MS, /* at a thread that seems to wait: it may have a wrong base */
};

/* One at least: a wait that is the only one is always asked.  So many are asked at 100 Hz that
 * after 10 s their shares are known to some points of a hundred, and a thread loses less by them
 * than by the stops that find it running. */
static const double a_tick_and_cpu = 0.25;

void waiters_init(struct waiters *w)
{
    w->at_once = (uint32_t)max_i64(sysconf(_SC_NPROCESSORS_ONLN), 1);
    w->a_tick = w->at_once * a_tick_and_cpu;
    w->a_tick = w->a_tick > 1 ? w->a_tick : 1;
}

void waiters_begin_tick(struct waiters *w)
{
    w->found_before = w->found;
    w->found = 0;
}

static float share_of_found(const struct waiters *w)
{
    double share = w->a_tick / (double)max_u64(w->found_before, 1);
    return share < 1 ? (float)share : 1;
}

static bool has_room(const struct waiters *w)
{
    return atomic_load_explicit(&w->asked, memory_order_relaxed) < w->at_once;
}

bool waiters_leave(struct sampler *s, struct thread *t)
{
    struct waiters *w = &s->waiters;
    if (!s->can.sched || !t->base_known || s->config.no_stop || s->shooting)
        return false;
    w->found++;
    if (t->wait_shown)
        t->wait_share = share_of_found(w);
    bool chosen = random_share(&s->random) < (double)t->wait_share;
    return !chosen || !has_room(w);
}

bool waiters_still(struct sampler *s, struct thread *t)
{
    dormant_note_active(t); /* it may run at any moment */
    if (s->tick_ns - t->wait_seen_ns < LOOK_AGAIN_NS)
        return true;
    t->wait_seen_ns = s->tick_ns;
    return thread_is_awake(s, t) && on_cpu_state(s, t) == THREAD_RUNNABLE;
}

void waiters_moved(struct thread *t)
{
    const struct claim *c = &t->sampled;
    if (c->provable && c->state == THREAD_RUNNABLE && c->sched.runs == t->sched.runs &&
        c->sched.run_ns != t->sched.run_ns)
        on_cpu_correct(t);
}

void waiters_asked(struct sampler *s, struct thread *t)
{
    if (t->wait_asked)
        return;
    t->wait_asked = true;
    atomic_fetch_add_explicit(&s->waiters.asked, 1, memory_order_relaxed);
}

void waiters_stopped(struct sampler *s, struct thread *t)
{
    if (!t->wait_asked)
        return;
    t->wait_asked = false;
    atomic_fetch_sub_explicit(&s->waiters.asked, 1, memory_order_relaxed);
}
