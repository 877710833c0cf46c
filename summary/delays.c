#include "summary/delays.h"

#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

/* The delays.  Linux delays an acknowledgement by 40 ms at least (TCP_DELACK_MIN, tcp(7)), and
 * Nagle's algorithm holds the rest of a message back until it has come (RFC 896).  What takes as
 * long may be something else: the words have an "if".  Of UDP nobody tells that something was
 * lost; who waits for datagrams need not have asked for one, but for a resolver. */
static const struct delay {
    enum blocker_net net;
    enum { ANY_WAIT, OF_RESOLVER, WITH_TIMEOUT } waits;
    int64_t least_ns, most_ns;
    double share; /* of the time, at least */
    const char *words;
} delays[] = {
    {NET_TCP, ANY_WAIT, INT64_C(38) * NS_PER_MS, INT64_C(48) * NS_PER_MS, 0.08,
     ", as long as TCP delays an acknowledgement: if a message is sent in parts, its rest waits "
     "for one. TCP_NODELAY or a single send() avoids that."},
    {NET_UDP, OF_RESOLVER, INT64_C(900) * NS_PER_MS, INT64_MAX, 0,
     ": UDP does not report a lost question or answer, and the caller waits for its time-out. "
     "In resolv.conf, options single-request-reopen makes this rarer, timeout:1 shorter."},
    {NET_UDP, WITH_TIMEOUT, INT64_C(900) * NS_PER_MS, INT64_MAX, 0,
     ": UDP does not report a lost question or answer, and the caller waits for its time-out."},
};
enum { DNS_PORT = 53 };

/* Whose answer SIDE waits for; NULL: nobody's, or that of several. */
static const struct blocker *answerer_of(const struct scene *s, const struct wait_side *side)
{
    const struct blocker *b = &side->blocker;
    if (side->thing == THING_EVENTS) {
        const struct listed_blocker *first = profile_see_blocker(s->p, side->list);
        if (!first || side->more || profile_see_blocker(s->p, first->next))
            return NULL;
        b = &first->blocker;
    } else if (side->thing != THING_SOCKET) {
        return NULL;
    }
    return b->kind == BLOCKER_PEER || b->kind == BLOCKER_PROCESS ? b : NULL;
}

static bool resolves(const struct shown_frame *f)
{
    return known_does(f, DOES_RESOLVE);
}

static bool is_one_of(const struct scene *s, const struct delay *d, const struct run *run)
{
    const struct wait_side *side = holders_side(s->holders, run->at);
    const struct blocker *b = answerer_of(s, side);
    if (!b || b->net != d->net)
        return false;
    if (d->waits == OF_RESOLVER)
        return b->port == DNS_PORT || rule_stack_has(s, run->at, resolves);
    return d->waits == ANY_WAIT || side->timed;
}

/* GROUP's waits at NODE that are D's: how long, and how many. */
static int64_t waits_for(const struct scene *s, const struct thread_group *group, uint32_t node,
                         const struct delay *d, uint64_t *ret_n)
{
    int64_t ns = 0;
    *ret_n = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            const struct run *run = &t->runs[k];
            if (run->state != RUN_BLOCKED || call_tree_of(s->g->tree, run->at) != node ||
                !is_one_of(s, d, run))
                continue;
            ns += run->weights.wall_ns;
            *ret_n += run->waits;
        }
    }
    return ns;
}

void add_delay(const struct scene *s, const struct thread_group *group, uint32_t node,
               struct text *words, struct finding *f)
{
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        uint64_t n;
        int64_t ns = waits_for(s, group, node, &delays[i], &n);
        n = ns > 0 ? max_u64(n, group->n_threads) : 0; /* one that goes on is not counted yet */
        int64_t each_ns = n ? ns / (int64_t)n : 0;
        if (!n || each_ns < delays[i].least_ns || each_ns > delays[i].most_ns ||
            share_of(ns, group->wall_ns) < delays[i].share)
            continue;
        text_add(words, " Each takes ");
        add_time(words, each_ns);
        text_add(words, delays[i].words);
        add_figure(f, "wait_ms", (double)each_ns / NS_PER_MS);
        return;
    }
}
