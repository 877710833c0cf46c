#include "summary/holders.h"

#include <stdlib.h>

#include "base/alloc.h"

struct held_stack {
    struct wait_side side;
    thread_id holder; /* found last; none: not looked for yet, or not found */
};

void holders_init(struct holders *h, const struct profile *p, struct view *v)
{
    *h = (struct holders){.p = p, .v = v};
}

static struct held_stack *stack_of(struct holders *h, stack_id s)
{
    uint64_t at;
    if (map_get(&h->by_stack, s.ix, &at))
        return &h->stacks[at];
    h->stacks = array_reserve(h->stacks, &h->capacity, h->n + 1, sizeof *h->stacks);
    h->stacks[h->n] = (struct held_stack){.side = wait_side_of(h->p, h->v, s)};
    map_put(&h->by_stack, s.ix, h->n);
    return &h->stacks[h->n++];
}

const struct wait_side *holders_side(struct holders *h, stack_id s)
{
    return &stack_of(h, s)->side;
}

/* Is thread ID the one that SIDE names?  A tid may be another thread's later. */
static bool is_holder(const struct profile *p, thread_id id, const struct wait_side *side,
                      int64_t at_ns)
{
    const struct profile_thread *t = profile_see_thread(p, id);
    return t->n_runs && !t->n_folded && t->tid == side->tid && at_ns >= t->start_ns &&
           (!t->ended || at_ns <= t->end_ns) &&
           profile_see_process(p, t->process)->pid == side->pid;
}

const struct profile_thread *holders_thread(struct holders *h, const struct run *run)
{
    struct held_stack *s = run->stack.ix ? stack_of(h, run->stack) : NULL;
    if (!s || s->side.holder != HOLDER_THREAD)
        return NULL;
    if (s->holder.ix && is_holder(h->p, s->holder, &s->side, run->start_ns))
        return profile_see_thread(h->p, s->holder);
    for (uint32_t i = 1; i <= profile_thread_count(h->p); i++)
        if (is_holder(h->p, (thread_id){i}, &s->side, run->start_ns)) {
            s->holder = (thread_id){i};
            return profile_see_thread(h->p, s->holder);
        }
    return NULL;
}

void holders_release(struct holders *h)
{
    free(h->stacks);
    map_release(&h->by_stack);
    *h = (struct holders){0};
}
