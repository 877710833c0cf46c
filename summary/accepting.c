#include "summary/accepting.h"

#include "base/clock.h"
#include "summary/cause.h"
#include "summary/rule_classes.h"

/* Is SIDE whoever connects, or is that one of the descriptors it is for? */
static bool is_listener(const struct profile *p, const struct wait_side *side)
{
    const struct listed_blocker *one = profile_see_blocker(p, side->list);
    if (side->thing != THING_EVENTS)
        return side->blocker.kind == BLOCKER_LISTENER;
    while (one && one->blocker.kind != BLOCKER_LISTENER)
        one = profile_see_blocker(p, one->next);
    return one || side->more;
}

static bool accepts(const struct groups *g, struct holders *h, const struct profile_thread *t)
{
    if (t->n_folded)
        return true;
    const struct run *last = t->n_runs ? &t->runs[t->n_runs - 1] : NULL;
    if (!last || last->state != RUN_BLOCKED)
        return false;
    bool known = last->at.wait.ix != 0;
    return (known && is_listener(g->p, holders_side(h, last->at))) ||
           run_is_in_idle_loop(g->tree, g->v, last);
}

bool waits_long_for_client(struct holders *h, const struct run *run)
{
    static const int64_t long_ns = NS_PER_S / 2; /* others that connect are kept waiting */
    int64_t each_ns = run->weights.wall_ns / (run->waits > 1 ? run->waits : 1);
    return run->state == RUN_BLOCKED && each_ns >= long_ns &&
           holders_is_for(h, run->at, 1U << BLOCKER_CLIENT);
}

bool somebody_accepts(const struct groups *g, struct holders *h)
{
    for (uint32_t i = 1; i <= profile_thread_count(g->p); i++) {
        const struct profile_thread *t = profile_see_thread(g->p, (thread_id){i});
        if (!t->ended && accepts(g, h, t))
            return true;
    }
    return false;
}

static bool waited_long(const struct judgement *s, const struct profile_thread *t)
{
    for (size_t k = 0; k < t->n_runs; k++)
        if (waits_long_for_client(s->holders, &t->runs[k]))
            return true;
    return false;
}

bool serves_one(const struct judgement *s, const struct thread_group *group)
{
    const struct run *last = groups_last_run(group);
    bool serves = last && holders_is_for(s->holders, last->at, 1U << BLOCKER_CLIENT) &&
                  !somebody_accepts(s->g, s->holders);
    for (size_t i = 0; i < group->n && serves; i++)
        if (waited_long(s, group->threads[i]->thread))
            return true;
    return false;
}

void add_serves_one(const struct judgement *s, const struct thread_group *group, struct text *words)
{
    if (serves_one(s, group))
        text_add(words, " Meanwhile no recorded thread accepts another client.");
}
