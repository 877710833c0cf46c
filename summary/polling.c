#include "summary/polling.h"

#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/path_words.h"
#include "summary/rule_classes.h"
#include "summary/waits_at.h"

static const int64_t longest_sleep_ns =
    INT64_C(900) * NS_PER_MS;         /* a supervisor looks once a second */
static const double least_sleeps = 4; /* of a thread */

/* Of the time below a function what sleeps, and what asks for what. */
struct between {
    int64_t all_ns, sleep_ns, asked_ns[ASKED_UNTOLD];
    uint64_t samples[ASKED_UNTOLD];
};

static void look_at(const struct judgement *s, const struct run *run, uint32_t outer,
                    uint32_t sleep, struct between *b)
{
    size_t n;
    uint32_t node = call_tree_of(s->g->tree, run->at);
    if (run->state == RUN_MISSED || !call_tree_is_within(s->g->tree, node, outer))
        return;
    b->all_ns += run->weights.wall_ns;
    if (node == sleep || run->state == RUN_RUNNABLE) {
        b->sleep_ns += run->weights.wall_ns;
        return;
    }
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    bool waits = run->state == RUN_BLOCKED;
    enum asked asked = waits ? ASKED_NOTHING : asks_of(stack, n);
    b->asked_ns[asked] += run->weights.wall_ns;
    b->samples[asked] += run->samples;
}

/* What GROUP does in OUTER but sleep: if it hardly does anything else than ask, what it asks for.
 * A question now and then is none: who draws a progress bar looks at a file, too. */
static enum asked asked_between(const struct judgement *s, const struct thread_group *group,
                                uint32_t outer, uint32_t sleep, bool *ret_works)
{
    enum { LEAST_SAMPLES = 3 };
    static const double most_work = 0.1, mostly_asked = 0.5;
    enum asked best = ASKED_NOTHING;
    struct between b = {0};
    for (size_t i = 0; i < group->n; i++)
        for (size_t k = 0; k < group->threads[i]->thread->n_runs; k++)
            look_at(s, &group->threads[i]->thread->runs[k], outer, sleep, &b);
    for (enum asked asked = ASKED_CHILD; asked < ASKED_UNTOLD; asked++)
        if (b.asked_ns[asked] > b.asked_ns[best] || (!best && b.asked_ns[asked] > 0))
            best = asked;
    *ret_works = share_of(b.asked_ns[ASKED_NOTHING], b.all_ns) > most_work;
    bool asks = b.samples[best] >= LEAST_SAMPLES &&
                share_of(b.asked_ns[best], b.all_ns - b.sleep_ns) >= mostly_asked;
    return asks && !*ret_works ? best : ASKED_NOTHING;
}

/* The function that sleeps may be one that only sleeps, which one that asks calls. */
static enum asked asked_at(const struct judgement *s, const struct thread_group *group,
                           uint32_t node)
{
    enum { MOST_CALLERS = 3 };
    enum asked named = ASKED_NOTHING;
    uint32_t outer = call_tree_node(s->g->tree, node).parent;
    enum asked known =
        outer ? asks_by_sleeping(call_tree_node(s->g->tree, outer).frame) : ASKED_NOTHING;
    for (size_t i = 0; i < MOST_CALLERS && outer && !known; i++) {
        bool works = false;
        const struct call_node at = call_tree_node(s->g->tree, outer);
        known = asked_between(s, group, outer, node, &works);
        if (works) /* its name may say that it waits for its turn to work */
            return ASKED_NOTHING;
        named = named ? named : asks_by_name(at.frame->name);
        outer = at.parent;
    }
    return known ? known : named;
}

struct polling polling_at(const struct judgement *s, struct thread_group *group, uint32_t node)
{
    int64_t all_ns = tally_total(&group->tally, node);
    int64_t each_ns = tally_wait_ns(&group->tally, node);
    if (each_ns <= 0)
        return (struct polling){0};
    double sleeps = (double)all_ns / (double)each_ns;
    return (struct polling){
        .each_ns = each_ns,
        .sleeps = sleeps / (double)group->n,
        .per_s = sleeps * NS_PER_S / (double)max_i64(group->wall_ns, 1), /* of a thread's */
        .asked = asked_at(s, group, node),
    };
}

bool polling_has_time_out(const struct judgement *s, const struct thread_group *group,
                          uint32_t node)
{
    struct waits_at w = waits_at(s, group, node);
    return waits_at_next(&w) && holders_side(s->holders, w.run->at)->timed;
}

void polling_add_asked(const struct judgement *s, const struct thread_group *group,
                       const struct polling *p, struct text *words)
{
    const struct profile_process *process =
        profile_see_process(s->p, group->threads[0]->thread->process);
    if (p->asked != ASKED_CHILD || process->n_children != 1 || process->children_seen > 1) {
        text_add(words, asks_words(p->asked));
        return;
    }
    const char *comm = profile_text(s->p, process->children[0].comm);
    text_addf(words, " for the end of its child %d (", process->children[0].pid);
    text_add_tame(words, comm, strlen(comm));
    text_add(words, "),");
}

void polling_add_times(const struct polling *p, const char *verb, struct text *words)
{
    text_addf(words, p->per_s < 10 ? "%s %.2g" : "%s %.0f", verb, p->per_s);
    text_add(words, " times a second, ");
    add_time(words, p->each_ns);
    text_add(words, " each.");
}

bool polling_is_often(const struct polling *p)
{
    return p->each_ns < longest_sleep_ns && p->sleeps >= least_sleeps;
}

void add_polling(const struct judgement *s, struct thread_group *group, uint32_t node,
                 struct text *words)
{
    struct polling p = polling_at(s, group, node);
    if (!p.asked || !polling_is_often(&p))
        return;
    text_addf(words, " %s there", group->plural ? "They poll" : "It polls");
    polling_add_asked(s, group, &p, words);
    text_add(words, group->plural ? " and each " : " and ");
    polling_add_times(&p, "sleeps", words);
}
