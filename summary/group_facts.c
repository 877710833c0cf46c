#include "summary/group_facts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "summary/circles.h"
#include "summary/executor.h"
#include "summary/returns.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/task_kinds.h"
#include "summary/task_waits.h"

/* Does rule_stalls() tell of a pause of the collector? */
static bool tells_pauses(const struct judgement *s, struct thread_group *group)
{
    struct returns r;
    if (!returns_are_asked(s, group) || !returns_find(s, group, &r))
        return false;
    bool told = returns_stall(s, group, &r) && is_pause(s, group, r.stalls);
    returns_release(&r, group);
    return told;
}

/* Does rule_tasks() or rule_executor() tell of tasks of LOOP's? */
static bool tells_tasks(const struct judgement *s, const struct thread_summary *loop)
{
    if (task_loop_idle_share(s, loop) < task_idle_share ||
        executor_has_other_loop(s, loop, task_idle_share))
        return false;
    struct executor executor = executor_of(s, loop);
    return executor_lacks_threads(&executor) || task_most(s, loop, task_fault_of) ||
           task_most(s, loop, task_fact_of);
}

/* Of a group the rules judge each thread by itself, if it has enough samples. */
static bool tells_tasks_of(const struct judgement *s, const struct thread_group *group)
{
    bool tells = false;
    for (size_t i = 0; i < group->n && !tells; i++) {
        if (!tells_tasks(s, group->threads[i]))
            continue;
        struct thread_group one = groups_one_of(s->g, group, i);
        tells = is_judged(&one);
        groups_release_one(&one);
    }
    return tells;
}

static struct group_facts find_facts(const struct judgement *s, const struct facts *f,
                                     struct thread_group *group)
{
    const struct held_wait locks = held_wait_of(s, group, HELD_LOCKS);
    const struct held_wait joins = held_wait_of(s, group, HELD_JOINS);
    struct group_facts ret = {
        .in_circle = circles_have(s, &f->circles, group),
        .stuck = stuck_has(&f->stuck, group),
        .locks = locks,
        .locks_held = held_by_whom(group, &locks),
        .held = joins.ns > locks.ns ? joins : locks,
        .tasks_told = tells_tasks_of(s, group),
        .pauses_told = tells_pauses(s, group),
    };
    ret.holder_told = held_wait_is_news(group, &ret.held) && !ret.in_circle && !ret.stuck;
    return ret;
}

void facts_init(struct facts *f, const struct judgement *s)
{
    *f = (struct facts){.circles = circles_find(s),
                        .of_groups = xcalloc(s->g->n, sizeof *f->of_groups)};
    f->stuck = stuck_find(s, &f->circles);
    for (size_t i = 0; i < s->g->n; i++)
        f->of_groups[i] = find_facts(s, f, &s->g->items[i]);
}

void facts_release(struct facts *f)
{
    wait_graph_release(&f->circles);
    free(f->of_groups);
}

const struct group_facts *facts_about(const struct judgement *s, const struct thread_group *group)
{
    assert(group >= s->g->items && group < s->g->items + s->g->n);
    return &s->facts->of_groups[group - s->g->items];
}
