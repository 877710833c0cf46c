#include "summary/delays.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"
#include "summary/waits_at.h"

/* The delays.  Linux delays an acknowledgement by 40 ms at least (TCP_DELACK_MIN, tcp(7)), and
 * Nagle's algorithm holds the rest of a message back until it has come (RFC 896).  What takes as
 * long may be something else: the words have an "if".  Of UDP nobody tells that something was
 * lost; who waits for datagrams need not have asked for one, but for a resolver. */
static const struct delay {
    enum blocker_net net;
    bool of_resolver;
    int64_t least_ns, most_ns;
    double share; /* of the time, at least */
    const char *words;
} delays[] = {
    {NET_TCP, false, INT64_C(38) * NS_PER_MS, INT64_C(48) * NS_PER_MS, 0.08,
     ", as long as TCP delays an acknowledgement: if a message is sent in parts, its rest waits "
     "for one. TCP_NODELAY or a single send() avoids that."},
    {NET_UDP, true, INT64_C(900) * NS_PER_MS, INT64_MAX, 0,
     ": UDP does not report a lost question or answer, and the caller waits for its time-out. "
     "In resolv.conf, options single-request-reopen makes this rarer, timeout:1 shorter."},
};
enum { DNS_PORT = 53 };

/* Whose answer SIDE waits for; NULL: nobody's, or that of several. */
static const struct blocker *answerer_of(const struct judgement *s, const struct wait_side *side)
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

static bool is_one_of(const struct judgement *s, const struct delay *d, const struct run *run)
{
    const struct wait_side *side = holders_side(s->holders, run->at);
    const struct blocker *b = answerer_of(s, side);
    if (!b || b->net != d->net)
        return false;
    return !d->of_resolver || b->port == DNS_PORT || rule_stack_has(s, run->at, resolves);
}

/* The wait that goes on: a long recording has each in several runs. */
struct open_wait {
    const struct profile_thread *thread;
    int64_t ns, until_ns;
    bool begun_before;
};

static bool goes_on(const struct open_wait *open, const struct waits_at *w)
{
    return open->thread == w->thread && open->until_ns == w->run->start_ns;
}

static void go_on(struct open_wait *open, const struct waits_at *w)
{
    if (!goes_on(open, w))
        *open = (struct open_wait){.thread = w->thread, .begun_before = w->k == 1};
    open->ns += w->run->weights.wall_ns;
    open->until_ns = run_end_ns(w->run);
}

/* Waits that are a delay's: in all, and those of about its length. */
struct delayed {
    int64_t all_ns, ns;
    uint64_t all, n;
};

/* WAITS that took NS: a run's ends are between two looks. */
static void add_delayed(struct delayed *sum, const struct delay *d, int64_t ns, uint64_t waits)
{
    const int64_t each_ns = ns / (int64_t)max_u64(waits, 1);
    bool is = each_ns >= d->least_ns / 2 && each_ns / 2 <= d->most_ns;
    sum->all_ns += ns;
    sum->all += waits;
    sum->ns += is ? ns : 0;
    sum->n += is ? waits : 0;
}

/* GROUP's waits at NODE that are D's.  One that goes on is not counted yet. */
static struct delayed delayed_of(const struct judgement *s, const struct thread_group *group,
                                 uint32_t node, const struct delay *d)
{
    struct delayed sum = {0};
    struct open_wait open = {0};
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w);) {
        if (!is_one_of(s, d, w.run))
            continue;
        if (open.ns && !goes_on(&open, &w))
            add_delayed(&sum, d, open.ns, 1);
        go_on(&open, &w);
        if (!w.run->waits)
            continue;
        add_delayed(&sum, d, open.ns, w.run->waits);
        open = (struct open_wait){0};
    }
    if (open.ns)
        add_delayed(&sum, d, open.ns, 1);
    return sum;
}

static bool add_known_delay(const struct judgement *s, const struct thread_group *group,
                            uint32_t node, struct text *words, struct finding *f)
{
    static const double most = 0.8; /* of the time */
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        const struct delayed sum = delayed_of(s, group, node, &delays[i]);
        int64_t each_ns = sum.n ? sum.ns / (int64_t)sum.n : 0;
        if (each_ns < delays[i].least_ns || each_ns > delays[i].most_ns ||
            share_of(sum.ns, sum.all_ns) < most ||
            share_of(sum.ns, group->wall_ns) < delays[i].share)
            continue;
        if (sum.n == sum.all)
            text_add(words, " Each takes ");
        else
            text_addf(words, " %" PRIu64 " of %" PRIu64 " take%s ", sum.n, sum.all,
                      sum.n == 1 ? "s" : "");
        add_time(words, each_ns);
        text_add(words, delays[i].words);
        add_figure(f, "wait_ms", (double)each_ns / NS_PER_MS);
        return true;
    }
    return false;
}

/* ---- time-outs ---- */

/* The waits of a group at one place. */
struct time_outs {
    uint64_t n, expired; /* in all; and those that their time-out ended */
    int64_t expired_ns;
    uint64_t whole; /* of EXPIRED, those of which the recording has the beginning, too */
    int64_t whole_ns;
    bool datagrams; /* these wait for one of UDP's */
};

static void add_expired(struct time_outs *sum, const struct open_wait *open, uint64_t waits)
{
    bool whole = !open->begun_before || waits > 1; /* one of several hardly counts */
    sum->expired += waits;
    sum->expired_ns += open->ns;
    sum->whole += whole ? waits : 0;
    sum->whole_ns += whole ? open->ns : 0;
}

static int64_t each_of(const struct time_outs *o)
{
    return o->whole ? o->whole_ns / (int64_t)o->whole
                    : o->expired_ns / max_i64((int64_t)o->expired, 1);
}

static struct time_outs time_outs_of(const struct judgement *s, const struct thread_group *group,
                                     uint32_t node)
{
    struct time_outs ret = {0};
    struct open_wait open = {0};
    for (struct waits_at w = waits_at(s, group, node); waits_at_next(&w);) {
        const struct wait_side *side = holders_side(s->holders, w.run->at);
        const struct blocker *b = answerer_of(s, side);
        go_on(&open, &w);
        ret.n += w.run->waits;
        ret.datagrams |= side->expired && b && b->net == NET_UDP;
        if (!w.run->waits)
            continue;
        if (side->expired)
            add_expired(&ret, &open, w.run->waits);
        open.thread = NULL;
    }
    return ret;
}

/* One of a few may have been answered in its last tick. */
static bool tell(const struct time_outs *o, int64_t all_ns)
{
    static const double most = 0.8, least_share = 0.08;
    enum { SURELY = 3 };
    static const int64_t long_ns = INT64_C(900) * NS_PER_MS;
    return o->expired && share_of((int64_t)o->expired, (int64_t)o->n) >= most &&
           share_of(o->expired_ns, all_ns) >= least_share &&
           (o->expired >= SURELY || each_of(o) >= long_ns);
}

static void add_time_outs(const struct judgement *s, const struct thread_group *group,
                          uint32_t node, struct text *words, struct finding *f)
{
    const struct time_outs o = time_outs_of(s, group, node);
    if (!tell(&o, group->wall_ns))
        return;
    const int64_t each_ns = each_of(&o);
    bool all = o.expired == o.n;
    if (all)
        text_add(words, " Each lasts until its time-out, ");
    else
        text_addf(words, " %" PRIu64 " of %" PRIu64 " waits last until their time-out, ", o.expired,
                  o.n);
    add_time(words, each_ns);
    text_addf(words, "%s: %s.", all ? "" : " each",
              o.datagrams ? "UDP does not report a lost question or answer"
                          : "nothing comes in that time");
    add_figure(f, "wait_ms", (double)each_ns / NS_PER_MS);
    add_figure(f, "time_outs", (double)o.expired);
}

void add_delay(const struct judgement *s, const struct thread_group *group, uint32_t node,
               struct text *words, struct finding *f)
{
    if (!add_known_delay(s, group, node, words, f))
        add_time_outs(s, group, node, words, f);
}
