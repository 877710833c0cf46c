#include "summary/ledger_bound.h"

#include <math.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "base/share.h"
#include "summary/wait_class.h"

static const double crowded_share = 0.05; /* of a thread's time: it waits for what others have */

/* How long GROUP waits for a CPU or the GIL. */
static int64_t crowded_ns(const struct groups *g, struct thread_group *group)
{
    int64_t ns = group->runqueue_ns;
    for (uint32_t node = 1; node <= call_tree_count(g->tree); node++)
        ns += class_of_node(g->tree, node) == CLASS_GIL ? tally_self(&group->tally, node) : 0;
    return ns;
}

static bool is_crowded(const struct groups *g, struct thread_group *group)
{
    return share_of(crowded_ns(g, group), group->wall_ns) > crowded_share;
}

/* Does time in CAUSE pass by what the thread itself does, or a disk or device does for it? */
static bool is_work(enum cause cause)
{
    static const unsigned work = 1U << CAUSE_COMPUTES | 1U << CAUSE_CPU | 1U << CAUSE_GC |
                                 1U << CAUSE_IMPORTS | 1U << CAUSE_PICKLES | 1U << CAUSE_STARTS |
                                 1U << CAUSE_PAGE | 1U << CAUSE_FILE | 1U << CAUSE_DEVICE;
    return work >> cause & 1;
}

/* For how long any thread of GROUP is in PLACE, at most. */
static int64_t place_ns(struct thread_group *group, const struct call_path *place)
{
    bool *nodes = call_path_nodes(&group->tally, place->node);
    int64_t ns = call_path_ns(&group->tally, nodes);
    free(nodes);
    return ns;
}

static int64_t bound_of(const struct groups *g, const struct ledger *l,
                        const struct ledger_row *row)
{
    struct thread_group *group = groups_of(g, row->group->threads[0]->thread);
    if (row->way != LEDGER_READ || row->place.callers || !is_work(row->cause) || group->idle ||
        is_crowded(g, group))
        return 0;
    /* Without the place each leading thread saves what it waits, and what it is there itself: no
     * more than anybody is there. */
    int64_t there_ns = place_ns(group, &row->place);
    int64_t waits_ns = l->wall_ns - l->idle_ns - l->leader->cpu_ns - l->leader->runqueue_ns;
    int64_t own_ns = group == l->leader ? there_ns : 0;
    double most_ns = (double)l->leader->n_threads * (double)there_ns;
    return max_i64(row->ns, (int64_t)fmin(most_ns, (double)(waits_ns + own_ns)));
}

void ledger_set_bounds(const struct groups *g, struct ledger *l)
{
    if (is_crowded(g, l->leader))
        return;
    for (size_t i = 0; i < l->n; i++)
        l->rows[i].bound_ns = bound_of(g, l, &l->rows[i]);
}
