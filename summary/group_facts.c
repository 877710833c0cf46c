#include "summary/group_facts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "summary/circles.h"

void facts_init(struct facts *f, const struct scene *s)
{
    *f = (struct facts){.circles = circles_find(s),
                        .of_groups = xcalloc(s->g->n, sizeof *f->of_groups)};
    f->stuck = stuck_find(s, &f->circles);
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *group = &s->g->items[i];
        f->of_groups[i] = (struct group_facts){
            .in_circle = circles_have(s, &f->circles, group),
            .stuck = stuck_has(&f->stuck, group),
        };
    }
}

void facts_release(struct facts *f)
{
    wait_graph_release(&f->circles);
    free(f->of_groups);
}

const struct group_facts *facts_about(const struct scene *s, const struct thread_group *group)
{
    assert(group >= s->g->items && group < s->g->items + s->g->n);
    return &s->facts->of_groups[group - s->g->items];
}
