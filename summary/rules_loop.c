/* Rules about event loops: how idle, and what keeps them from polling. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/group_facts.h"
#include "summary/heaviest_paths.h"
#include "summary/idle.h"
#include "summary/pools.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"

static const double loop_share = 0.05;
static const double ready_share =
    0.15; /* of its time: more of it polls than a loop with work does */
enum {
    LEAST_POLLS = 3,
};

struct loop {
    const char *kind; /* "asyncio"; NULL: no event loop */
    int64_t idle_ns;
    size_t polls;
};

static const char *poll_of(const struct scene *s, const struct run *run)
{
    size_t n = 0;
    if (run->state != RUN_BLOCKED ||
        class_of_node(s->g->tree, call_tree_of(s->g->tree, run->at)) != CLASS_IDLE)
        return NULL;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    const char *loop = idle_event_loop(stack, n);
    bool own = call_tree_node(s->g->tree, call_tree_of(s->g->tree, run->at)).own_loop;
    return loop ? loop : own ? "epoll" : NULL;
}

/* The user's function that polls in T's event loop; 0: a library's does, or there is none. */
static uint32_t function_that_polls(const struct scene *s, const struct profile_thread *t)
{
    for (size_t i = 0; i < t->n_runs; i++) {
        uint32_t node = call_tree_of(s->g->tree, t->runs[i].at);
        if (call_tree_node(s->g->tree, node).own_loop)
            return call_tree_own(s->g->tree, node);
    }
    return 0;
}

/* Is RUN a wait for the thread's turn to poll: in a pool that polls in turn, or for a lock of the
 * function that polls, POLLING? */
static bool waits_for_turn(const struct scene *s, const struct run *run, uint32_t polling)
{
    static const char *const locks[] = {"futex", "flock", "fcntl", "semop", "semtimedop", NULL};
    uint32_t node = call_tree_of(s->g->tree, run->at);
    enum wait_class class = class_of_run(s->g->tree, run);
    if (class == CLASS_IDLE)
        return true;
    return polling && class == CLASS_ORDINARY &&
           str_is_one_of(call_tree_node(s->g->tree, node).frame->call, locks) &&
           call_tree_own(s->g->tree, node) == polling;
}

/* Adds what T does in its event loop to LOOP, and the time between its polls to STALLS. */
static void see_loop(const struct scene *s, const struct profile_thread *t, struct loop *loop,
                     struct stalls *stalls)
{
    uint32_t polling = function_that_polls(s, t);
    for (size_t i = 0; i < t->n_runs && !t->n_folded; i++) {
        const struct run *run = &t->runs[i];
        const char *kind = poll_of(s, run);
        if (!kind && !waits_for_turn(s, run, polling)) {
            stalls_add_away(stalls, run);
            continue;
        }
        stalls_add_back(stalls, run, kind != NULL);
        loop->idle_ns +=
            kind || class_of_run(s->g->tree, run) == CLASS_IDLE ? run->weights.wall_ns : 0;
        loop->kind = kind ? kind : loop->kind;
        loop->polls += kind != NULL;
    }
}

/* What part of their time GROUP's threads idle in an event loop. */
static double idle_share_of(const struct scene *s, const struct thread_group *group)
{
    struct loop loop = {.kind = NULL};
    for (size_t i = 0; i < group->n; i++) {
        struct stalls stalls = {.n = 0};
        see_loop(s, group->threads[i]->thread, &loop, &stalls);
        stalls_release(&stalls);
    }
    return share_of(loop.idle_ns, group->wall_ns);
}

/* ---- a loop that never waits ---- */

/* What a thread does in an event loop while it is on a CPU, or waits for one. */
struct loop_polls {
    const char *kind; /* NULL: it never polls */
    int64_t poll_ns;
    size_t polls;
    struct interval *rest; /* when it does not poll, but does not wait either; owned */
    size_t n, capacity;
};

static struct loop_polls polls_of(const struct scene *s, const struct profile_thread *t)
{
    struct loop_polls ret = {0};
    for (size_t i = 0; i < t->n_runs && !t->n_folded; i++) {
        const struct run *run = &t->runs[i];
        size_t n = 0;
        if (run->state == RUN_MISSED || run->state == RUN_BLOCKED || run->state == RUN_STOPPED)
            continue;
        const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
        const char *kind = idle_polling_loop(stack, n);
        if (!kind) {
            ret.rest = interval_add(ret.rest, &ret.n, &ret.capacity, run);
            continue;
        }
        ret.kind = kind;
        ret.poll_ns += run->weights.wall_ns;
        ret.polls++;
    }
    return ret;
}

/* Does the loop of GROUP, of one thread, poll again and again without ever waiting? */
static bool is_always_ready(const struct scene *s, const struct thread_group *group,
                            const struct loop_polls *polls)
{
    enum { LEAST_TIMES = 10 };
    return polls->polls >= LEAST_TIMES && share_of(polls->poll_ns, group->wall_ns) >= ready_share &&
           idle_share_of(s, group) < loop_share;
}

static bool finds_ready_loop(const struct scene *s, const struct thread_group *group)
{
    bool ready = false;
    for (size_t i = 0; i < group->n && !ready; i++) {
        struct thread_group one = groups_one_of(s->g, group, i);
        struct loop_polls polls = polls_of(s, one.threads[0]->thread);
        ready = is_always_ready(s, &one, &polls);
        free(polls.rest);
        groups_release_one(&one);
    }
    return ready;
}

static void add_handler(const struct scene *s, const struct thread_group *group,
                        const struct loop_polls *polls, struct text *words)
{
    struct tally t;
    struct call_path path;
    if (!polls->n)
        return; /* it would be all of its time */
    tally_init(&t, s->g->tree, TALLY_ALL);
    tally_add(&t, group->threads[0]->thread, polls->rest, polls->n);
    if (call_paths_heaviest(&t, &path, 1) == 1) {
        text_add(words, " Between its polls it is for longest ");
        add_place(words, &path);
        text_add(words, ".");
        call_path_release(&path);
    }
    tally_release(&t);
}

static bool is_of_loop(const struct shown_frame *f)
{
    return pool_event_loop(f) != NULL;
}

void rule_ready_loop(const struct scene *s, struct thread_group *group, struct finding *f)
{
    if (!rule_has_frame(s, is_of_loop))
        return;
    struct loop_polls polls = polls_of(s, group->threads[0]->thread);
    double share = share_of(polls.poll_ns, group->wall_ns);
    add_figure(f, "polls_share", share);
    f->weight =
        share_of(group->cpu_ns + group->runqueue_ns, group->wall_ns) * (group == s->lead ? 1 : 0.6);
    if (is_always_ready(s, group, &polls)) {
        struct text words = {0};
        text_addf(&words,
                  "%s runs an event loop (%s) that never waits: a descriptor is ready "
                  "whenever it polls, for ",
                  group->noun, polls.kind);
        add_percent(&words, share);
        text_add(&words, " of its time.");
        add_handler(s, group, &polls, &words);
        text_add(&words,
                 " Such a descriptor's other end has closed, nobody reads what it has, or it "
                 "is watched for room to write, which it always has.");
        f->words = words.s;
    }
    free(polls.rest);
}

/* ---- a loop that is kept ---- */

/* Loops whose callbacks must not block: others serve one request after the other. */
static const char *callback_of(const struct scene *s, uint32_t node)
{
    static const char *const kinds[] = {"asyncio", "libuv", NULL};
    for (; node; node = call_tree_node(s->g->tree, node).parent) {
        const char *kind = pool_event_loop(call_tree_node(s->g->tree, node).frame);
        if (kind && str_is_one_of(kind, kinds))
            return kind;
    }
    return NULL;
}

void add_kept_loop(const struct scene *s, const struct thread_group *group, uint32_t node,
                   struct text *out)
{
    const char *kind = callback_of(s, node);
    if (!kind || finds_ready_loop(s, group))
        return;
    if (idle_share_of(s, group) < loop_share)
        text_addf(out, " That keeps %s event loop%s (%s) from polling.", possessive(group),
                  group->plural ? "s" : "", kind);
}

/* Returns whether it says more than that the loop idles. */
static bool add_loop(const struct scene *s, const struct thread_group *group,
                     const struct loop *loop, const struct stalls *stalls, bool stalled,
                     struct text *words)
{
    text_addf(words,
              group->plural ? "%s run event loops (%s) and are idle "
                            : "%s runs an event loop (%s) and is idle ",
              group->noun, loop->kind);
    add_percent(words, share_of(loop->idle_ns, group->wall_ns));
    text_addf(words, " of %s time.", possessive(group));
    size_t idles = words->len;
    add_away(s, group, stalls, stalled, words);
    return words->len > idles;
}

/* Is the longest time between two polls one that a reader should know of? */
static bool is_long(const struct scene *s, const struct thread_group *group,
                    const struct stalls *stalls)
{
    const struct stall *longest = &stalls[stalls_worst(stalls, group->n)].longest;
    if (profile_time_step_ns(s->p) > 0) /* samples lost their order */
        return false;
    return (stall_ns(longest) >= STALL_NS && longest->samples >= STALL_SAMPLES) ||
           is_pause(s, group, stalls);
}

static void judge_loop(const struct scene *s, const struct thread_group *group,
                       const struct loop *loop, const struct stalls *stalls, struct finding *f)
{
    const struct stall *longest = &stalls[stalls_worst(stalls, group->n)].longest;
    double idle = share_of(loop->idle_ns, group->wall_ns);
    bool stalled = loop->kind && is_long(s, group, stalls);
    add_figure(f, "idle_share", idle);
    add_figure(f, "longest_stall_s", (double)stall_ns(longest) / NS_PER_S);
    f->weight = (stalled ? 0.7 : 0.3 * idle) * (group == s->lead ? 1 : 0.5);
    if (!loop->kind || idle < loop_share || loop->polls < (stalled ? LEAST_POLLS : 1))
        return;
    struct text words = {0};
    if (!add_loop(s, group, loop, stalls, stalled, &words) && facts_about(s, group)->tasks_told)
        text_release(&words);
    f->words = words.s;
}

void rule_event_loop(const struct scene *s, struct thread_group *group, struct finding *f)
{
    struct loop loop = {.kind = NULL};
    struct stalls *stalls = xcalloc(group->n, sizeof *stalls);
    for (size_t i = 0; i < group->n; i++)
        see_loop(s, group->threads[i]->thread, &loop, &stalls[i]);
    judge_loop(s, group, &loop, stalls, f);
    for (size_t i = 0; i < group->n; i++)
        stalls_release(&stalls[i]);
    free(stalls);
}
