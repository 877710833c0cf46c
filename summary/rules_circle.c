/* Rules about circles of waits.  A circle without time-outs never ends, so the end of the recording
 * shows it. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "summary/rule_words.h"

enum { LEAST_CIRCLE_NS = NS_PER_S / 2 };
/* Of the circle's time, for which a thread is seen to wait for the GIL: it wakes up every 5 ms, and
 * then may wait for a CPU.  The GIL's holder does not run, so no other thread can have it then. */
static const double gil_part = 0.5;

/* The run of T's wait at the end of the recording; NULL: it does not wait.  A thread that
 * waits for the GIL runs every 5 ms, to ask for it again. */
static const struct run *last_wait(const struct scene *s, const struct profile_thread *t)
{
    enum { MOST_BACK = 3 };
    if (t->ended || t->n_folded)
        return NULL;
    for (size_t back = 1; back <= MOST_BACK && back <= t->n_runs; back++) {
        const struct run *run = &t->runs[t->n_runs - back];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        if (run->state == RUN_BLOCKED && wait && (back == 1 || wait->kind == WAIT_GIL))
            return run;
    }
    return NULL;
}

/* The graph of waits at the end of the recording. */
static void graph_at_end(const struct scene *s, struct wait_graph *graph)
{
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct profile_thread *t = s->g->summaries.threads[i].thread;
        const struct run *last = last_wait(s, t);
        struct wait_side side = {0};
        if (last)
            side = *holders_side(s->holders, last->at);
        wait_graph_add(graph, profile_see_process(s->p, t->process)->pid, t->tid, &side,
                       (uint32_t)i);
    }
    wait_graph_link(graph);
}

static const struct profile_thread *thread_at(const struct scene *s, const struct waiter *w)
{
    return s->g->summaries.threads[w->tag].thread;
}

/* Does T wait for the GIL for most of [START_NS, END_NS)? */
static bool waits_for_gil(const struct scene *s, const struct profile_thread *t, int64_t start_ns,
                          int64_t end_ns)
{
    int64_t waits_ns = 0;
    for (size_t i = t->n_runs; i > 0; i--) {
        const struct run *run = &t->runs[i - 1];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        int64_t until_ns = min_i64(end_ns, run->start_ns + run->weights.wall_ns);
        if (until_ns <= start_ns)
            break;
        if (run->state == RUN_BLOCKED && wait && wait->kind == WAIT_GIL)
            waits_ns += max_i64(0, until_ns - max_i64(run->start_ns, start_ns));
    }
    return (double)waits_ns >= gil_part * (double)(end_ns - start_ns);
}

/* For how long all of CYCLE have waited together without running; 0: it is no circle.  Who waits
 * for the GIL runs now and then all the same.  Two threads that take turns with the GIL wait for
 * each other at different moments, so waits for the GIL alone prove nothing. */
static int64_t circle_ns(const struct scene *s, const struct wait_graph *graph, int cycle)
{
    int64_t start_ns = INT64_MIN;
    int64_t end_ns = INT64_MAX;
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->items[i].cycle != cycle)
            continue;
        const struct profile_thread *t = thread_at(s, &graph->items[i]);
        const struct run *last = &t->runs[t->n_runs - 1];
        if (graph->items[i].side.thing != THING_GIL)
            start_ns = max_i64(start_ns, t->still_since_ns);
        end_ns = min_i64(end_ns, last->start_ns + last->weights.wall_ns);
    }
    if (start_ns == INT64_MIN || start_ns >= end_ns)
        return 0;
    for (size_t i = 0; i < graph->n; i++)
        if (graph->items[i].cycle == cycle && graph->items[i].side.thing == THING_GIL &&
            !waits_for_gil(s, thread_at(s, &graph->items[i]), start_ns, end_ns))
            return 0;
    return end_ns - start_ns;
}

static const char *label_of(const struct scene *s, const struct waiter *w)
{
    return s->g->summaries.threads[w->tag].label;
}

static void add_held(const struct scene *s, const struct wait_side *side, const char *holder,
                     struct text *words)
{
    text_add(words, ", for ");
    wait_side_add_thing(words, s->p, side);
    text_addf(words, " held by %s", holder);
}

/* "deposit 12 waits in transfer a.cc:7 for a mutex held by withdraw 13" */
static void add_waiter(const struct scene *s, const struct wait_graph *graph,
                       const struct waiter *w, struct text *words)
{
    const struct profile_thread *t = thread_at(s, w);
    struct call_path path = call_path_of_run(s->g->tree, t, last_wait(s, t));
    text_addf(words, "%s waits ", label_of(s, w));
    add_place(words, &path);
    const char *next = label_of(s, &graph->items[w->next]);
    if (w->side.thing == THING_THREAD || w->side.thing == THING_CHILD)
        text_addf(words, ", for %s to end", next);
    else if (w->side.thing == THING_PIPE || w->side.thing == THING_SOCKET)
        text_addf(words, ", for %s at the other end of the %s", next,
                  wait_thing_name(w->side.thing));
    else if (w->side.thing == THING_EVENTS)
        text_addf(words, ", for %s", next);
    else
        add_held(s, &w->side, &graph->items[w->next] == w ? "itself" : next, words);
    call_path_release(&path);
}

static void add_behind(const struct scene *s, const struct wait_graph *graph, int cycle,
                       struct text *words, struct finding *f)
{
    enum { MOST_NAMED = 4 };
    size_t n = 0;
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->items[i].behind != cycle)
            continue;
        if (n++ < MOST_NAMED)
            text_addf(words, "%s%s", n == 1 ? " Behind it: " : ", ", label_of(s, &graph->items[i]));
        const struct thread_group *group = groups_of(s->g, thread_at(s, &graph->items[i]));
        if (group && group == s->lead)
            f->blames = group->noun;
    }
    if (n > MOST_NAMED)
        text_addf(words, " and %zu more", n - MOST_NAMED);
    if (n)
        text_add(words, ".");
    add_figure(f, "behind", (double)n);
}

static void write_circle(const struct scene *s, const struct wait_graph *graph, int cycle,
                         const char *title, struct finding *f)
{
    struct text words = {0};
    const struct waiter *first = wait_graph_first(graph, cycle);
    const struct waiter *w = first;
    size_t n = 0;
    text_addf(&words, "%s for ", title);
    add_time(&words, circle_ns(s, graph, cycle));
    do {
        text_add(&words, n++ ? "; " : ": ");
        add_waiter(s, graph, w, &words);
        w = &graph->items[w->next];
    } while (w != first);
    text_add(&words, ".");
    add_figure(f, "threads", (double)n);
    add_figure(f, "seconds", (double)circle_ns(s, graph, cycle) / NS_PER_S);
    add_behind(s, graph, cycle, &words, f);
    f->about = groups_of(s->g, thread_at(s, first))->noun;
    f->words = words.s;
}

static void judge_circles(const struct scene *s, bool timed, const char *title, struct finding *f)
{
    struct wait_graph graph = {0};
    if (profile_time_step_ns(s->p) >= LEAST_CIRCLE_NS)
        return;
    graph_at_end(s, &graph);
    for (int cycle = 1; cycle <= graph.n_cycles && !f->words; cycle++)
        if (wait_graph_is_timed(&graph, cycle) == timed &&
            circle_ns(s, &graph, cycle) >= LEAST_CIRCLE_NS)
            write_circle(s, &graph, cycle, title, f);
    wait_graph_release(&graph);
}

void rule_deadlock(const struct scene *s, struct thread_group *group, struct finding *f)
{
    (void)group;
    f->weight = 3;
    judge_circles(s, false, "Deadlock", f);
}

void rule_circular_wait(const struct scene *s, struct thread_group *group, struct finding *f)
{
    (void)group;
    f->weight = 1;
    judge_circles(s, true, "Circular wait, with a time-out,", f);
}

bool rule_finds_circle_of(const struct scene *s, const struct thread_group *group)
{
    struct wait_graph graph = {0};
    bool found = false;
    graph_at_end(s, &graph);
    for (size_t i = 0; i < graph.n && !found; i++) {
        const struct waiter *w = &graph.items[i];
        int cycle = w->cycle ? w->cycle : w->behind;
        found = cycle && groups_of(s->g, thread_at(s, w)) == group &&
                circle_ns(s, &graph, cycle) >= LEAST_CIRCLE_NS;
    }
    wait_graph_release(&graph);
    return found;
}
