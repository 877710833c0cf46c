/* Rules about circles of waits. */
#include "base/clock.h"
#include "summary/circles.h"
#include "summary/group_facts.h"
#include "summary/mutual.h"
#include "summary/rule_words.h"

static const char *label_of(const struct judgement *s, const struct waiter *w)
{
    return s->g->summaries.threads[w->tag].label;
}

static void add_held(const struct judgement *s, const struct wait_side *side, const char *holder,
                     struct text *words)
{
    text_add(words, ", for ");
    wait_side_add_thing(words, s->p, side);
    text_addf(words, " held by %s", holder);
}

/* "deposit 12 waits in transfer a.cc:7 for a mutex held by withdraw 13" */
static void add_waiter(const struct judgement *s, const struct wait_graph *graph,
                       const struct waiter *w, struct text *words)
{
    const struct profile_thread *t = circles_thread(s, w);
    struct call_path path = call_path_of_run(s->g->tree, t, circles_last_wait(s, t));
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

static void add_behind(const struct judgement *s, const struct wait_graph *graph, int cycle,
                       struct text *words, struct finding *f)
{
    enum { MOST_NAMED = 4 };
    size_t n = 0;
    for (size_t i = 0; i < graph->n; i++) {
        if (graph->items[i].behind != cycle)
            continue;
        if (n++ < MOST_NAMED)
            text_addf(words, "%s%s", n == 1 ? " Behind it: " : ", ", label_of(s, &graph->items[i]));
    }
    if (n > MOST_NAMED)
        text_addf(words, " and %zu more", n - MOST_NAMED);
    if (n)
        text_add(words, ".");
    add_figure(f, "behind", (double)n);
}

/* " Nobody reads the pipe that is full. …": where a thread of CYCLE waits for room in one. */
static void add_full(const struct judgement *s, const struct wait_graph *graph, int cycle,
                     struct text *words)
{
    for (size_t i = 0; i < graph->n; i++) {
        const struct waiter *w = &graph->items[i];
        if (w->cycle != cycle || !is_for_room(s, circles_last_wait(s, circles_thread(s, w))))
            continue;
        text_truncate(words, words->len - 1); /* the full stop */
        text_add(words, ": ");
        add_no_reader(w->side.thing, words);
        return;
    }
}

/* Is a thread of the leader's in CYCLE, or, if BEHIND, behind it? */
static bool has_leader(const struct judgement *s, const struct wait_graph *graph, int cycle,
                       bool behind)
{
    for (size_t i = 0; i < graph->n && s->lead; i++) {
        const struct waiter *w = &graph->items[i];
        if ((behind ? w->behind : w->cycle) == cycle &&
            groups_of(s->g, circles_thread(s, w)) == s->lead)
            return true;
    }
    return false;
}

struct circle_facts {
    int cycle; /* of wait_graph */
};

static void judge_circle(const struct judgement *s, const struct wait_graph *graph, int cycle,
                         struct finding *f)
{
    const struct circle_facts facts = {cycle};
    double seconds = (double)circles_ns(s, graph, cycle) / NS_PER_S;
    size_t n = 0;
    for (size_t i = 0; i < graph->n; i++)
        n += graph->items[i].cycle == cycle;
    f->about = groups_of(s->g, circles_thread(s, wait_graph_first(graph, cycle)))->noun;
    if (has_leader(s, graph, cycle, false))
        f->about = s->lead->noun;
    /* Without a time-out it lasts, however late in the recording it began. */
    f->share =
        wait_graph_is_timed(graph, cycle) ? share_of(circles_ns(s, graph, cycle), s->wall_ns) : 1;
    if (has_leader(s, graph, cycle, true)) {
        f->also = s->lead->noun;
        f->of_leader = f->share;
    }
    add_figure(f, "threads", (double)n);
    add_figure(f, "seconds", seconds);
    finding_applies(f, &facts, sizeof facts);
}

/* The first circle whose waits have time-outs, if TIMED, or have none; one that keeps the leader
 * before others. */
static void judge_circles(const struct judgement *s, bool timed, struct finding *f)
{
    const struct wait_graph *graph = &s->facts->circles;
    for (int keeps = 1; keeps >= 0; keeps--)
        for (int cycle = 1; cycle <= graph->n_cycles && !f->applies; cycle++)
            if (wait_graph_is_timed(graph, cycle) == timed &&
                (has_leader(s, graph, cycle, false) || has_leader(s, graph, cycle, true)) == keeps)
                judge_circle(s, graph, cycle, f);
}

void rule_deadlock(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    (void)group;
    judge_circles(s, false, f);
}

void rule_circular_wait(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    (void)group;
    judge_circles(s, true, f);
}

/* Says once that a thread of CYCLE waits in code that interrupted other code of that thread. */
static void add_one_interrupted(const struct judgement *s, const struct wait_graph *graph,
                                int cycle, struct text *words)
{
    const struct waiter *first = wait_graph_first(graph, cycle);
    const struct waiter *w = first;
    size_t len = words->len;
    do {
        add_interrupted(s, circles_last_wait(s, circles_thread(s, w)), words);
        w = &graph->items[w->next];
    } while (w != first && words->len == len);
}

void tell_circle(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct wait_graph *graph = &s->facts->circles;
    const int cycle = ((const struct circle_facts *)f->facts)->cycle;
    const struct waiter *first = wait_graph_first(graph, cycle);
    const struct waiter *w = first;
    text_add(words, wait_graph_is_timed(graph, cycle) ? "Circular wait, with a time-out, for "
                                                      : "Deadlock for ");
    add_time(words, circles_ns(s, graph, cycle));
    do {
        text_add(words, w == first ? ": " : "; ");
        add_waiter(s, graph, w, words);
        w = &graph->items[w->next];
    } while (w != first);
    text_add(words, ".");
    add_one_interrupted(s, graph, cycle, words);
    add_full(s, graph, cycle, words);
    add_behind(s, graph, cycle, words, f);
}
