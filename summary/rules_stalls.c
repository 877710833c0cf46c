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

void rule_stalls(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct returns r;
    if (!returns_are_asked(s, group) || !returns_find(s, group, &r))
        return;
    const struct stall *longest = &r.stalls[stalls_worst(r.stalls, group->n)].longest;
    add_figure(f, "share", r.share);
    add_figure(f, "longest_stall_s", (double)stall_ns(longest) / NS_PER_S);
    f->share = 1;
    enum returns_stall stall = returns_stall(s, group, &r);
    if (stall == STALL_OF_REQUESTS) /* who has what there are a few of stays away, too */
        f->unless = "exhausted";
    if (stall) {
        struct text words = {0};
        text_addf(&words, "%s stall%s between %s waits.", group->noun, verb_s(group),
                  possessive(group));
        add_away(s, group, r.stalls, true, &words);
        add_waits(s, group, &r, &words, f);
        f->words = words.s;
    }
    returns_release(&r, group);
}
