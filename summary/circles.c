#include "summary/circles.h"

#include "base/clock.h"
#include "base/minmax.h"

enum { LEAST_CIRCLE_NS = NS_PER_S / 2 };
/* Of the circle's time, for which a thread is seen to wait for the GIL: it wakes up every 5 ms, and
 * then may wait for a CPU.  The GIL's holder does not run, so no other thread can have it then. */
static const double gil_part = 0.5;

const struct run *circles_last_wait(const struct judgement *s, const struct profile_thread *t)
{
    /* Who waits for the GIL may not be seen with its holder at the very end, beside waits for a
     * CPU: beside a compiler on 2 CPUs the last three runs had none (test deadlocks). */
    enum { MOST_BACK = 16 };
    const struct run *last = NULL;
    if (t->ended || t->n_folded)
        return NULL;
    for (size_t back = 1; back <= MOST_BACK && back <= t->n_runs; back++) {
        const struct run *run = &t->runs[t->n_runs - back];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        if (run->state != RUN_BLOCKED || !wait)
            continue;
        if (wait->kind != WAIT_GIL)
            return last ? last : back == 1 ? run : NULL;
        if (holders_side(s->holders, run->at)->blocker.kind == BLOCKER_THREAD)
            return run;
        last = last ? last : run;
    }
    return last;
}

/* The other side of RUN's wait, with the thread that only the stacks tell. */
static struct wait_side side_of(const struct judgement *s, const struct run *run)
{
    struct wait_side side = *holders_side(s->holders, run->at);
    const struct profile_thread *maker =
        side.thing == THING_ONCE ? holders_thread(s->holders, run) : NULL;
    if (maker)
        side.blocker = (struct blocker){.kind = BLOCKER_THREAD,
                                        .pid = profile_see_process(s->p, maker->process)->pid,
                                        .tid = maker->tid};
    return side;
}

/* All waits at the end of the recording. */
static void graph_at_end(const struct judgement *s, struct wait_graph *graph)
{
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct profile_thread *t = s->g->summaries.threads[i].thread;
        const struct run *last = circles_last_wait(s, t);
        struct wait_side side = {0};
        if (last)
            side = side_of(s, last);
        wait_graph_add(graph, profile_see_process(s->p, t->process)->pid, t->tid, &side,
                       (uint32_t)i);
    }
    wait_graph_link(graph);
}

const struct profile_thread *circles_thread(const struct judgement *s, const struct waiter *w)
{
    return s->g->summaries.threads[w->tag].thread;
}

/* Does T wait for the GIL for most of [START_NS, END_NS)? */
static bool waits_for_gil(const struct judgement *s, const struct profile_thread *t,
                          int64_t start_ns, int64_t end_ns)
{
    int64_t waits_ns = 0;
    for (size_t i = t->n_runs; i > 0; i--) {
        const struct run *run = &t->runs[i - 1];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        int64_t until_ns = min_i64(end_ns, run_end_ns(run));
        if (until_ns <= start_ns)
            break;
        if (run->state == RUN_BLOCKED && wait && wait->kind == WAIT_GIL)
            waits_ns += max_i64(0, until_ns - max_i64(run->start_ns, start_ns));
    }
    return (double)waits_ns >= gil_part * (double)(end_ns - start_ns);
}

/* Does T wait for the GIL for most of [START_NS, END_NS), and was its holder read since then? */
static bool keeps_waiting_for_gil(const struct judgement *s, const struct profile_thread *t,
                                  int64_t start_ns, int64_t end_ns)
{
    return run_end_ns(circles_last_wait(s, t)) > start_ns && waits_for_gil(s, t, start_ns, end_ns);
}

int64_t circles_ns(const struct judgement *s, const struct wait_graph *graph, int cycle)
{
    int64_t start_ns = INT64_MIN;
    int64_t end_ns = INT64_MAX;
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->items[i].cycle != cycle)
            continue;
        const struct profile_thread *t = circles_thread(s, &graph->items[i]);
        const struct run *last = &t->runs[t->n_runs - 1];
        if (graph->items[i].side.thing != THING_GIL)
            start_ns = max_i64(start_ns, t->still_since_ns);
        end_ns = min_i64(end_ns, run_end_ns(last));
    }
    if (start_ns == INT64_MIN || start_ns >= end_ns)
        return 0;
    for (size_t i = 0; i < graph->n; i++)
        if (graph->items[i].cycle == cycle && graph->items[i].side.thing == THING_GIL &&
            !keeps_waiting_for_gil(s, circles_thread(s, &graph->items[i]), start_ns, end_ns))
            return 0;
    return end_ns - start_ns;
}

struct wait_graph circles_find(const struct judgement *s)
{
    struct wait_graph graph = {0};
    if (!is_exact_at_end(s->p, LEAST_CIRCLE_NS))
        return graph;
    graph_at_end(s, &graph);
    for (int cycle = graph.n_cycles; cycle > 0; cycle--) /* to drop one changes those after it */
        if (circles_ns(s, &graph, cycle) < LEAST_CIRCLE_NS)
            wait_graph_drop(&graph, cycle);
    return graph;
}

bool circles_have(const struct judgement *s, const struct wait_graph *graph,
                  const struct thread_group *group)
{
    for (size_t i = 0; i < graph->n; i++) {
        const struct waiter *w = &graph->items[i];
        if ((w->cycle || w->behind) && groups_of(s->g, circles_thread(s, w)) == group)
            return true;
    }
    return false;
}
