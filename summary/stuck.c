#include "summary/stuck.h"

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/circles.h"
#include "summary/rule_words.h"

enum { LEAST_STUCK_NS = NS_PER_S / 2 };

/* The run of T that waits, when the recording ends, for what only a thread of its process can do;
 * NULL: it does not. */
static const struct run *last_wait(const struct judgement *s, const struct profile_thread *t)
{
    const struct run *last = t->n_runs ? &t->runs[t->n_runs - 1] : NULL;
    const struct wait *wait = last ? profile_see_wait(s->p, last->at.wait) : NULL;
    return wait && last->state == RUN_BLOCKED && wait->side.inside && !wait->side.timed ? last
                                                                                        : NULL;
}

/* Do all threads of process ID wait so?  Each has to be known: any other could wake them. */
static bool is_stuck(const struct judgement *s, process_id id, struct stuck *ret)
{
    *ret = (struct stuck){.process = id, .start_ns = INT64_MIN, .end_ns = INT64_MAX};
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (t->process.ix != id.ix || t->ended || t->n_folded)
            continue;
        const struct run *last = last_wait(s, t);
        /* Somebody who is gone has it: that says more. */
        if (!last || holders_side(s->holders, last->at)->blocker.kind == BLOCKER_GONE)
            return false;
        ret->threads++;
        ret->start_ns = max_i64(ret->start_ns, t->still_since_ns);
        ret->end_ns = min_i64(ret->end_ns, run_end_ns(last));
    }
    return ret->threads && ret->threads == profile_see_process(s->p, id)->threads &&
           ret->end_ns - ret->start_ns >= LEAST_STUCK_NS;
}

bool stuck_has(const struct stuck *stuck, const struct thread_group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->threads[i]->thread->process.ix == stuck->process.ix)
            return stuck->threads > 0;
    return false;
}

const struct profile_thread *stuck_thread_of(const struct stuck *stuck,
                                             const struct thread_group *group)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        if (t->process.ix == stuck->process.ix && !t->ended && !t->n_folded)
            return t;
    }
    return NULL;
}

const struct run *stuck_wait_of(const struct judgement *s, const struct stuck *stuck,
                                const struct thread_group *group)
{
    const struct profile_thread *t = stuck_thread_of(stuck, group);
    return t ? last_wait(s, t) : NULL;
}

/* A circle says more; a pool that waits for work has done nothing wrong. */
static bool is_worth_telling(const struct judgement *s, const struct wait_graph *circles,
                             const struct stuck *stuck)
{
    bool any = false;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *group = &s->g->items[i];
        if (!stuck_has(stuck, group))
            continue;
        if (circles_have(s, circles, group))
            return false;
        any |= !group->idle && is_judged(group) && stuck_wait_of(s, stuck, group);
    }
    return any;
}

struct stuck stuck_find(const struct judgement *s, const struct wait_graph *circles)
{
    struct stuck stuck;
    if (is_exact_at_end(s->p, LEAST_STUCK_NS))
        for (uint32_t i = 1; i <= profile_process_count(s->p); i++)
            if (is_stuck(s, (process_id){i}, &stuck) && is_worth_telling(s, circles, &stuck))
                return stuck;
    return (struct stuck){.threads = 0};
}
