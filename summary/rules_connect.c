/* The rule about connections that nobody answers at once: a request that is dropped is sent again
 * after a second or more (tcp(7), tcp_syn_retries; RFC 6298, 2.1). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const int64_t unanswered_ns = 9 * (int64_t)NS_PER_S / 10;
static const double mostly = 0.5; /* of the time in which they connect */
enum { MOST_ASKING = 16 };        /* the first few threads of the leader stand for all */

/* The threads of one process that connect, each for a tenth of its time or more. */
struct connecting {
    struct thread_group *group; /* of the one with the longest run */
    const char *called;         /* struct thread_summary's group of all of them; "": several */
    size_t n_threads;
    int64_t ns, wall_ns;
    int64_t long_ns;                     /* of NS, in waits in which a request went unanswered */
    const struct profile_thread *thread; /* with the longest run, */
    const struct run *run;               /* that one */
    struct intervals when;               /* at least one of them connects, where that is exact */
};

/* The connection that WAIT is for, and for nothing else, if it was seen not to be made yet;
 * NULL. */
static const struct blocker *see_unconnected(const struct profile *p, const struct wait *wait)
{
    const struct wait_side *side = &wait->side;
    const struct listed_blocker *only = profile_see_blocker(p, side->list);
    bool polls = only && !only->next.ix && !side->more && !side->at_least;
    const struct blocker *to = polls ? &only->blocker : &side->blocker;
    return to->queue == QUEUE_NOT_CONNECTED ? to : NULL;
}

/* Does RUN wait for a connection to be made: in connect(2), in a poll of one that was seen, or in a
 * function of Python's that connects?  With a time-out that polls; before, it may ask for the
 * host's address. */
static bool is_connecting(const struct judgement *s, const struct run *run)
{
    size_t n = 0;
    const struct wait *wait = profile_see_wait(s->p, run->at.wait);
    if (run->state != RUN_BLOCKED || !wait || wait->kind != WAIT_CALL ||
        wait->side.blocker.net == NET_UNIX)
        return false;
    if (see_unconnected(s->p, wait))
        return true;
    const char *call = profile_text(s->p, wait->call);
    if (!strstr(call, "poll"))
        return str_eq(call, "connect");
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    while (n && stack[n - 1].kind != SHOWN_PYTHON && !known_does(&stack[n - 1], DOES_RESOLVE))
        n--;
    return n && known_does(&stack[n - 1], DOES_CONNECT);
}

/* Was a request of THREAD's in RUN unanswered?  In its last run a thread that has not run since
 * waits only once: its counts, which did not move, do not say so. */
static bool is_unanswered(const struct profile_thread *thread, const struct run *run)
{
    bool last = run == &thread->runs[thread->n_runs - 1];
    bool once = last && thread->still_since_ns <= run->start_ns && !thread->n_folded;
    uint32_t waits = run->waits || !once ? run->waits : 1;
    return waits && run->weights.wall_ns / waits >= unanswered_ns;
}

/* What SUMMARY's thread does of it. */
static struct connecting connecting_of(const struct judgement *s,
                                       const struct thread_summary *summary)
{
    const struct profile_thread *thread = summary->thread;
    struct connecting ret = {.thread = thread,
                             .called = summary->group,
                             .n_threads = summary->n_threads,
                             .wall_ns = summary->wall_ns};
    for (size_t k = 0; k < thread->n_runs; k++) {
        const struct run *run = &thread->runs[k];
        int64_t ns = run->weights.wall_ns;
        if (!is_connecting(s, run))
            continue;
        ret.ns += ns;
        ret.long_ns += is_unanswered(thread, run) ? ns : 0;
        ret.run = ret.run && ret.run->weights.wall_ns >= ns ? ret.run : run;
        if (!thread->n_folded)
            intervals_add_run(&ret.when, run);
    }
    return ret;
}

static void add(struct connecting *c, const struct connecting *one)
{
    bool several = c->called && !str_eq(c->called, one->called);
    if (!c->run || one->run->weights.wall_ns > c->run->weights.wall_ns) {
        c->group = one->group;
        c->thread = one->thread;
        c->run = one->run;
    }
    c->called = several ? "" : one->called;
    c->n_threads += one->n_threads;
    c->ns += one->ns;
    c->long_ns += one->long_ns;
    c->wall_ns += one->wall_ns;
    for (size_t i = 0; i < one->when.n; i++)
        intervals_add(&c->when, one->when.items[i]);
}

static void add_group(const struct judgement *s, struct thread_group *group,
                      struct connecting *by_process)
{
    for (size_t i = 0; i < group->n; i++) {
        struct connecting one = connecting_of(s, group->threads[i]);
        one.group = group;
        if (one.run && share_of(one.ns, one.wall_ns) >= worth_telling)
            add(&by_process[one.thread->process.ix], &one);
        intervals_release(&one.when);
    }
}

/* Those of the process that connects for longest; the caller releases when that is. */
static struct connecting find_connecting(const struct judgement *s)
{
    size_t n = profile_process_count(s->p) + (size_t)1;
    struct connecting *all = xcalloc(n, sizeof *all);
    size_t best = 0;
    for (size_t i = 0; i < s->g->n; i++)
        add_group(s, &s->g->items[i], all);
    for (size_t i = 1; i < n; i++)
        best = all[i].ns > all[best].ns ? i : best;
    for (size_t i = 0; i < n; i++)
        if (i != best)
            intervals_release(&all[i].when);
    struct connecting ret = all[best];
    free(all);
    intervals_unite(&ret.when);
    intervals_keep_exact(&ret.when, s->p);
    return ret;
}

/* The part of the leader's time in which it waits, and threads of its process connect: it may wait
 * for them. */
static double taken_of_leader(const struct judgement *s, const struct connecting *c)
{
    int64_t ns = 0;
    int64_t all_ns = 0;
    for (size_t i = 0; s->lead && i < s->lead->n && i < MOST_ASKING; i++) {
        const struct profile_thread *thread = s->lead->threads[i]->thread;
        if (thread->n_folded || thread->process.ix != c->thread->process.ix)
            continue;
        struct intervals waits = intervals_of(s, thread, 1U << CLASS_ORDINARY);
        ns += intervals_both_ns(&waits, &c->when);
        all_ns += thread->end_ns - thread->start_ns;
        intervals_release(&waits);
    }
    return share_of(ns, all_ns);
}

struct connect_facts {
    struct call_path path; /* to the longest of them */
    struct thread_group *group;
    const char *called;
    size_t n_threads;
    const struct blocker *to; /* whom the path's end is to be connected to */
    const struct profile_process *process;
};

void rule_connect(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct connecting c = find_connecting(s);
    (void)group;
    f->share = share_of(c.ns, c.wall_ns);
    add_figure(f, "share", f->share);
    if (c.run && share_of(c.long_ns, c.ns) >= mostly) {
        const struct wait *wait = profile_see_wait(s->p, c.run->at.wait);
        const struct blocker *polled = see_unconnected(s->p, wait);
        struct connect_facts facts = {.group = c.group,
                                      .called = c.called,
                                      .n_threads = c.n_threads,
                                      .to = polled ? polled : &wait->side.blocker,
                                      .process = profile_see_process(s->p, c.thread->process)};
        if (facts.process->net.syn_repeats) {
            facts.path = call_path_of_run(s->g->tree, c.thread, c.run);
            f->about = c.group->noun;
            f->of_leader = taken_of_leader(s, &c);
            finding_applies(f, &facts, sizeof facts);
        }
    }
    intervals_release(&c.when);
}

/* " 4711 (app) listens there, and its queue takes 5." */
static void add_listener(const struct listener *l, const struct profile *p, struct text *words,
                         struct finding *f)
{
    text_addf(words, " %d (%s) listens there", l->pid, profile_text(p, l->name));
    if (l->room) {
        text_addf(words, ", and its queue takes %u", l->room);
        add_figure(f, "backlog", l->room);
    }
    text_add(words, ".");
}

static void add_cause(const struct judgement *s, const struct connect_facts *facts,
                      struct text *words, struct finding *f)
{
    const struct profile_net *net = &facts->process->net;
    const struct listener *listener = profile_listener(s->p, facts->to);
    text_add(words, " On this machine ");
    text_add_thousands(words, (double)net->syn_repeats);
    text_add(words, " requests for a connection had no answer, and were sent again after a second "
                    "or more.");
    if (!net->listen_overflows || !listener) { /* the full queue may be another program's */
        text_add(words, " A firewall drops them, that host is not there, or its queue of "
                        "connections to accept is full.");
        return;
    }
    text_add(words, " A listening socket's queue was full ");
    text_add_thousands(words, (double)net->listen_overflows);
    text_add(words, " times: the kernel drops what comes then.");
    add_listener(listener, s->p, words, f);
    text_addf(words, " Give listen() a larger backlog%s, or accept sooner.",
              facts->process->python_version.ix ? " (socketserver: request_queue_size)" : "");
}

/* "8 lane threads wait 38% of their time": they may be some of a group, or of several */
static void add_who(const struct connect_facts *facts, double share, struct text *words)
{
    if (facts->n_threads == facts->group->n_threads) {
        add_opening(facts->group, "wait", share, words);
        return;
    }
    size_t len = thread_stem_len(facts->called);
    bool one = facts->n_threads == 1;
    text_addf(words, "%zu ", facts->n_threads);
    text_add_tame(words, facts->called, len);
    text_addf(words, "%sthread%s ", len ? " " : "", one ? " waits" : "s wait");
    add_percent(words, share);
    text_addf(words, " of %s time", one ? "its" : "their");
}

/* "… to be connected to 127.0.0.1:80, in ask gate.c:86. …" */
void tell_connect(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct connect_facts *facts = f->facts;
    add_who(facts, f->share, words);
    text_add(words, " to be connected");
    if (facts->to->host.ix)
        text_addf(words, " to %s:%u", profile_text(s->p, facts->to->host), facts->to->port);
    text_add(words, ", ");
    add_place(words, &facts->path);
    text_add(words, ".");
    add_cause(s, facts, words, f);
    add_figure(f, "syn_repeats", (double)facts->process->net.syn_repeats);
    add_figure(f, "listen_overflows", (double)facts->process->net.listen_overflows);
}
