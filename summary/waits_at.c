#include "summary/waits_at.h"

struct waits_at waits_at(const struct judgement *s, const struct thread_group *group, uint32_t node)
{
    return (struct waits_at){.s = s, .group = group, .node = node};
}

bool waits_at_next(struct waits_at *w)
{
    for (; w->i < w->group->n; w->i++, w->k = 0) {
        w->thread = w->group->threads[w->i]->thread;
        while (w->k < w->thread->n_runs) {
            w->run = &w->thread->runs[w->k++];
            if (w->run->state == RUN_BLOCKED && call_tree_of(w->s->g->tree, w->run->at) == w->node)
                return true;
        }
    }
    return false;
}
