#include "summary/accepting.h"

#include "summary/idle.h"
#include "summary/rule_classes.h"

/* Is SIDE whoever connects, or is that one of the descriptors it is for? */
static bool is_listener(const struct judgement *s, const struct wait_side *side)
{
    const struct listed_blocker *one = profile_see_blocker(s->p, side->list);
    if (side->thing != THING_EVENTS)
        return side->blocker.kind == BLOCKER_LISTENER;
    while (one && one->blocker.kind != BLOCKER_LISTENER)
        one = profile_see_blocker(s->p, one->next);
    return one || side->more;
}

static bool is_idle_loop(const struct judgement *s, const struct run *run)
{
    size_t n;
    if (class_of_run(s->g->tree, run) != CLASS_IDLE)
        return false;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    return idle_event_loop(stack, n) != NULL;
}

static bool accepts(const struct judgement *s, const struct profile_thread *t)
{
    if (t->n_folded)
        return true;
    const struct run *last = t->n_runs ? &t->runs[t->n_runs - 1] : NULL;
    if (!last || last->state != RUN_BLOCKED)
        return false;
    bool known = last->at.wait.ix != 0;
    return (known && is_listener(s, holders_side(s->holders, last->at))) || is_idle_loop(s, last);
}

bool somebody_accepts(const struct judgement *s)
{
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (!t->ended && accepts(s, t))
            return true;
    }
    return false;
}
