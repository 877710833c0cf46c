/* Rules about event loops: how idle, and what keeps them from polling. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/event_loop.h"
#include "summary/group_facts.h"
#include "summary/heaviest_paths.h"
#include "summary/idle.h"
#include "summary/kernel_side.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"

enum { LEAST_POLLS = 3 };

/* ---- a loop that never waits ---- */

/* Is NODE a function of the user's that the loop calls? */
static bool is_handler(const struct call_tree *tree, uint32_t node)
{
    struct call_node at = call_tree_node(tree, node);
    if (at.role != ROLE_OWN)
        return false;
    do {
        node = at.parent;
        at = call_tree_node(tree, node);
    } while (node && at.role != ROLE_OWN && !at.frame->loop);
    return node && at.role != ROLE_OWN;
}

/* The handler with most of T's time, which may be less than the loop takes by itself; 0: there is
 * none that takes much. */
static uint32_t find_handler(struct tally *t)
{
    static const double least = 0.05; /* of that time */
    uint32_t best = 0;
    for (uint32_t node = 1; node <= call_tree_count(t->tree); node++)
        if (is_handler(t->tree, node) &&
            tally_total(t, node) >
                (best ? tally_total(t, best) : (int64_t)(least * (double)t->all_ns)))
            best = node;
    return best;
}

static void add_handler(const struct judgement *s, const struct thread_group *group,
                        const struct loop_polls *polls, struct text *words)
{
    struct tally t;
    struct call_path path;
    if (!polls->rest.n)
        return;
    tally_init(&t, s->g->tree, TALLY_ALL);
    tally_add(&t, group->threads[0]->thread, polls->rest.items, polls->rest.n);
    uint32_t handler = find_handler(&t);
    if (handler) {
        char *name = call_path_function(&t, handler);
        text_add(words, " Between its polls it calls ");
        add_name(words, name);
        text_add(words, ".");
        free(name);
    } else if (call_paths_heaviest(&t, &path, 1) == 1) {
        text_add(words, " Between its polls it is mainly ");
        add_place(words, &path);
        text_add(words, ".");
        call_path_release(&path);
    }
    tally_release(&t);
}

static bool is_of_loop(const struct shown_frame *f)
{
    return f->loop != NULL || idle_polls(f);
}

static void add_never_waits(struct thread_group *group, const struct loop_polls *polls,
                            struct text *words)
{
    if (polls->kind) {
        text_addf(words, "%s runs an event loop (%s) that never waits: ", group->noun, polls->kind);
    } else {
        struct call_path path = call_path_to(&group->tally, polls->node);
        text_addf(words, "%s polls in a loop that never waits, ", group->noun);
        add_place(words, &path);
        text_add(words, ": ");
        call_path_release(&path);
    }
    text_addf(words, "whenever it polls a descriptor is ready, or %s, for ",
              polls->kind ? "a callback due" : "the time-out is 0");
}

/* " It reads 35,000 times a second, 1 byte each: …", if that is what it does in most rounds; or why
 * else a descriptor may always be ready, such as one that gives nothing. */
static void add_causes(const struct thread_group *group, const struct loop_polls *polls,
                       struct text *words, struct finding *f)
{
    enum { MOST_ROUND_NS = NS_PER_MS, FEW_BYTES = 4 /* an eventfd(2) gives 8 */ };
    const struct profile_usage *u = &group->threads[0]->thread->usage;
    const double reads = rule_per_second_of_life(u->reads, group);
    if (u->reads && (int64_t)u->reads >= rule_life_ns(group) / MOST_ROUND_NS &&
        u->read_bytes >= u->reads && u->read_bytes / u->reads < FEW_BYTES) {
        const uint64_t bytes = u->read_bytes / u->reads;
        add_figure(f, "reads_per_s", reads);
        text_add(words, " It reads ");
        text_add_thousands(words, reads);
        text_addf(words,
                  " times a second, %" PRIu64 " byte%s each: read all that is there at once.",
                  bytes, bytes == 1 ? "" : "s");
        return;
    }
    text_add(words, " Usual causes: the descriptor's other end has closed, nobody reads it, it is "
                    "watched for writing all the time, or ");
    text_add(words,
             polls->kind ? "a callback asks to be called again at once." : "there is always work.");
}

bool rule_may_see_loops(const struct judgement *s)
{
    return rule_has_frame(s, is_of_loop);
}

struct ready_facts {
    struct loop_polls polls;
    double share; /* of the time */
};

void rule_ready_loop(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct ready_facts facts = {.polls = loop_polls_of(s, group->threads[0]->thread)};
    facts.share = share_of(facts.polls.poll_ns, group->wall_ns);
    add_figure(f, "polls_share", facts.share);
    f->share = share_of(group->cpu_ns + group->runqueue_ns, group->wall_ns);
    if (loop_is_always_ready(s, group->threads[0], &facts.polls))
        finding_applies(f, &facts, sizeof facts);
    else
        release_ready_loop(&facts);
}

void tell_ready_loop(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct ready_facts *facts = f->facts;
    add_never_waits(f->group, &facts->polls, words);
    add_percent(words, facts->share);
    text_add(words, " of its time.");
    add_handler(s, f->group, &facts->polls, words);
    add_causes(f->group, &facts->polls, words, f);
}

void release_ready_loop(void *facts)
{
    intervals_release(&((struct ready_facts *)facts)->polls.rest);
}

/* ---- a loop that is kept ---- */

static const double computes_much = 0.3; /* of its time: what it runs is worth a word */

struct loop_facts {
    struct loop loop;
    struct away away; /* not told: the loop idles, and that is all */
};

/* Is the longest time between two polls one that a reader should know of? */
static bool is_long(const struct judgement *s, const struct thread_group *group,
                    const struct stalls *stalls)
{
    const struct stall *longest = &stalls[stalls_worst(stalls, group->n)].longest;
    if (profile_time_step_ns(s->p) > 0) /* samples lost their order */
        return false;
    return (stall_ns(longest) >= STALL_NS && longest->samples >= STALL_SAMPLES) ||
           is_pause(s, group, stalls);
}

static void judge_loop(const struct judgement *s, const struct thread_group *group,
                       const struct loop *loop, const struct stalls *stalls, struct finding *f)
{
    const struct stall *longest = &stalls[stalls_worst(stalls, group->n)].longest;
    double idle = share_of(loop->idle_ns, group->wall_ns);
    bool stalled = loop->kind && is_long(s, group, stalls);
    add_figure(f, "idle_share", idle);
    add_figure(f, "longest_stall_s", (double)stall_ns(longest) / NS_PER_S);
    /* What a stall costs those whom the loop serves cannot be measured; where others lead they lose
     * no more than the loop's own time. */
    f->share = stalled && (group == s->lead || group->leads) ? 1 : 1 - idle;
    if (!loop->kind || idle < loop_idle_share || loop->polls < (stalled ? LEAST_POLLS : 1))
        return;
    struct loop_facts facts = {*loop, away_of(s, group, stalls, stalled)};
    bool rests = !away_is_told(&facts.away);
    if (rests) {
        f->kind = FINDING_RESTS;
        f->share = idle;
    }
    if (rests && facts_about(s, group)->tasks_told)
        release_event_loop(&facts);
    else
        finding_applies(f, &facts, sizeof facts);
}

void rule_event_loop(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct loop loop = {.kind = NULL};
    struct stalls *stalls = xcalloc(group->n, sizeof *stalls);
    for (size_t i = 0; i < group->n; i++)
        loop_see(s, group->threads[i]->thread, &loop, &stalls[i]);
    judge_loop(s, group, &loop, stalls, f);
    for (size_t i = 0; i < group->n; i++)
        stalls_release(&stalls[i]);
    free(stalls);
}

void tell_event_loop(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct thread_group *group = f->group;
    const struct loop_facts *facts = f->facts;
    text_addf(words,
              group->plural ? "%s run event loops (%s) and are idle "
                            : "%s runs an event loop (%s) and is idle ",
              group->noun, facts->loop.kind);
    add_percent(words, share_of(facts->loop.idle_ns, group->wall_ns));
    text_addf(words, " of %s time.", possessive(group));
    away_add(s, group, &facts->away, words);
    if (away_is_told(&facts->away) && share_of(group->cpu_ns, group->wall_ns) >= computes_much) {
        const struct slow_part known = slow_code_of(s, group);
        add_slow_code(s, &known, group, group->plural ? "their CPU time" : "its CPU time", words,
                      f);
    }
    add_loops_answer(s, group, words);
}

void release_event_loop(void *facts)
{
    away_release(&((struct loop_facts *)facts)->away);
}
