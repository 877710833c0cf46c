#include "summary/own_loops.h"

#include "base/share.h"
#include "base/text.h"
#include "summary/wait_side.h"

enum {
    MOST_POLLS = 8, /* of a thread: calls of epoll_wait() in different places */
    LEAST_TIMES = 10,
};
static const double never_returns = 0.98; /* of the time between its polls it is on the stack */

/* A place in which a thread polls, and what speaks for a loop there. */
struct poll {
    uint32_t node, function; /* the user's that polls */
    uint64_t times;
    int64_t start_ns, end_ns;     /* from the first poll to the last one */
    int64_t known_ns, for_one_ns; /* of polls whose descriptors were read; of one of them only */
    int64_t all_ns, inside_ns;    /* between START_NS and END_NS; in FUNCTION */
    bool calls_back;
};
struct polls {
    struct poll items[MOST_POLLS];
    size_t n;
};

static bool is_unknown_poll(const struct call_node *at)
{
    return at->frame && at->frame->kind == SHOWN_WAIT && at->frame->wait == WAIT_CALL &&
           !at->idle && str_starts(at->frame->call, "epoll_");
}

/* The user's function that polls in NODE; 0: only a library's does. */
static uint32_t polling_function(const struct call_tree *t, uint32_t node)
{
    while (node && call_tree_node(t, node).role != ROLE_OWN)
        node = call_tree_node(t, node).parent;
    return node;
}

static struct poll *poll_at(struct polls *polls, const struct call_tree *t, uint32_t node)
{
    size_t i = 0;
    while (i < polls->n && polls->items[i].node != node)
        i++;
    if (i < polls->n)
        return &polls->items[i];
    uint32_t function = polling_function(t, node);
    if (i == MOST_POLLS || !function)
        return NULL;
    polls->items[i] = (struct poll){.node = node, .function = function};
    return &polls->items[polls->n++];
}

static void see_poll(struct polls *polls, struct call_tree *t, const struct run *run, bool goes_on)
{
    uint32_t node = run->state == RUN_BLOCKED ? call_tree_of(t, run->at) : 0;
    const struct call_node at = call_tree_node(t, node);
    struct poll *poll = is_unknown_poll(&at) ? poll_at(polls, t, node) : NULL;
    if (!poll)
        return;
    const struct wait *wait = profile_see_wait(call_tree_profile(t), run->at.wait);
    uint64_t times = run->waits ? run->waits : 1;
    poll->times += goes_on ? times - 1 : times;
    poll->start_ns = poll->end_ns ? poll->start_ns : run->start_ns;
    poll->end_ns = run_end_ns(run);
    poll->known_ns += wait && wait->side.thing ? run->weights.wall_ns : 0;
    poll->for_one_ns += wait && wait_side_is_for_one(&wait->side) ? run->weights.wall_ns : 0;
}

/* Does a function of the user's that OUTER calls have NODE in it? */
static bool is_in_callback(const struct call_tree *t, uint32_t node, uint32_t outer)
{
    bool own = false;
    for (; node != outer; node = call_tree_node(t, node).parent)
        own |= call_tree_node(t, node).role == ROLE_OWN;
    return own;
}

static void see_rest(struct poll *poll, struct call_tree *t, const struct run *run)
{
    uint32_t node = call_tree_of(t, run->at);
    if (run->state == RUN_MISSED || run->start_ns < poll->start_ns || run->start_ns >= poll->end_ns)
        return;
    poll->all_ns += run->weights.wall_ns;
    if (!call_tree_is_within(t, node, poll->function))
        return;
    poll->inside_ns += run->weights.wall_ns;
    poll->calls_back |= is_in_callback(t, node, poll->function);
}

/* Who waits for the only descriptor of an epoll waits for an answer. */
static bool is_loop(const struct poll *poll)
{
    return poll->times >= LEAST_TIMES && poll->calls_back &&
           share_of(poll->inside_ns, poll->all_ns) >= never_returns &&
           2 * poll->for_one_ns <= poll->known_ns;
}

static void mark_of_thread(struct call_tree *t, const struct profile_thread *thread)
{
    struct polls polls = {.n = 0};
    for (size_t k = 0; k < thread->n_runs; k++) {
        bool goes_on = k && spots_are_same(thread->runs[k - 1].at, thread->runs[k].at);
        see_poll(&polls, t, &thread->runs[k], goes_on);
    }
    for (size_t i = 0; i < polls.n; i++) {
        for (size_t k = 0; k < thread->n_runs; k++)
            see_rest(&polls.items[i], t, &thread->runs[k]);
        if (is_loop(&polls.items[i]))
            call_tree_mark_loop(t, polls.items[i].node);
    }
}

void own_loops_mark(struct call_tree *t)
{
    const struct profile *p = call_tree_profile(t);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *thread = profile_see_thread(p, (thread_id){i});
        if (!thread->n_folded)
            mark_of_thread(t, thread);
    }
}
