/* The rule about threads that wait for most of their time, as servers do and what works at a rate,
 * and now and then stay away from that wait for long.  Those with an event loop are
 * rules_loop.c's. */
#include "base/clock.h"
#include "summary/kernel_side.h"
#include "summary/returns.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"

/* " It waits 92% of its time in serve a.py:9 > recvfrom socket." */
static void add_waits(const struct judgement *s, struct thread_group *group,
                      const struct returns *r, struct text *words, struct finding *f)
{
    text_addf(words, " %s %s%s ", group->plural ? "They" : "It", r->sleeps ? "sleep" : "wait",
              verb_s(group));
    add_percent(words, r->share);
    text_addf(words, " of %s time in ", possessive(group));
    add_way(words, &r->path);
    text_add(words, ".");
    (void)add_kernel_side(s, group, r->path.node, true, words, f);
}

struct stall_facts {
    struct returns r;
    const struct thread_group *group; /* R's */
};

void rule_stalls(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct stall_facts facts = {.group = group};
    if (!returns_are_asked(s, group) || !returns_find(s, group, &facts.r))
        return;
    const struct stall *longest = &facts.r.stalls[stalls_worst(facts.r.stalls, group->n)].longest;
    add_figure(f, "share", facts.r.share);
    add_figure(f, "longest_stall_s", (double)stall_ns(longest) / NS_PER_S);
    f->share = 1;
    enum returns_stall stall = returns_stall(s, group, &facts.r);
    if (stall == STALL_OF_REQUESTS) /* who has what there are a few of stays away, too */
        f->unless = "exhausted";
    if (stall)
        finding_applies(f, &facts, sizeof facts);
    else
        release_stalls(&facts);
}

void tell_stalls(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct returns *r = &((struct stall_facts *)f->facts)->r;
    text_addf(words, "%s stall%s between %s waits.", f->group->noun, verb_s(f->group),
              possessive(f->group));
    add_away(s, f->group, r->stalls, true, words);
    add_waits(s, f->group, r, words, f);
}

void release_stalls(void *facts)
{
    struct stall_facts *f = facts;
    returns_release(&f->r, f->group);
}
