#include "summary/mutual.h"

#include "base/clock.h"
#include "summary/rule_words.h"

static const double most_of_it = 0.95;
/* A call that sends for so long has found nobody who takes anything: a reader would have made
 * room. */
enum { LEAST_NS = NS_PER_S / 2 };

static const struct wait *wait_of(const struct scene *s, const struct run *run)
{
    return run->state == RUN_BLOCKED ? profile_see_wait(s->p, run->at.wait) : NULL;
}

/* Does RUN wait for room in a pipe or socket? */
static bool sends(const struct scene *s, const struct run *run)
{
    static const char *const calls[] = {"write",  "writev",  "pwritev2", "send",
                                        "sendto", "sendmsg", "sendmmsg", NULL};
    const struct wait *wait = wait_of(s, run);
    const char *call = wait && wait->kind == WAIT_CALL ? profile_text(s->p, wait->call) : NULL;
    for (size_t i = 0; call && calls[i]; i++)
        if (str_eq(call, calls[i]))
            return true;
    return false;
}

/* Does RUN wait for a process of GROUP at a pipe or socket? */
static bool waits_for(const struct scene *s, const struct run *run,
                      const struct thread_group *group)
{
    static const unsigned streams = 1U << THING_PIPE | 1U << THING_SOCKET;
    if (!wait_of(s, run))
        return false;
    const struct wait_side *side = holders_side(s->holders, run->at);
    if (!(streams >> side->thing & 1) || !blocker_is_process(&side->blocker))
        return false;
    for (size_t i = 0; i < group->n; i++)
        if (profile_see_process(s->p, group->threads[i]->thread->process)->pid == side->blocker.pid)
            return true;
    return false;
}

/* What some runs come to: their waits for the other side. */
struct mutual_waits {
    int64_t all_ns, for_other_ns, longest_send_ns;
    enum wait_thing full; /* what the longest send is to */
};

static void add_run(const struct scene *s, const struct run *run, int64_t ns,
                    const struct thread_group *other, struct mutual_waits *w)
{
    w->all_ns += ns;
    if (!waits_for(s, run, other))
        return;
    w->for_other_ns += ns;
    if (run->waits > 1 || ns <= w->longest_send_ns || !sends(s, run))
        return;
    w->longest_send_ns = ns;
    w->full = holders_side(s->holders, run->at)->thing;
}

/* Of GROUP's time in WHEN: its waits for OTHER. */
static struct mutual_waits waits_between(const struct scene *s, const struct thread_group *group,
                                         const struct intervals *when,
                                         const struct thread_group *other)
{
    struct mutual_waits ret = {0};
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        if (t->n_folded)
            continue;
        for (struct run_parts p = run_parts_of(t, when->items, when->n); run_parts_next(&p);)
            add_run(s, p.run, p.when.end_ns - p.when.start_ns, other, &ret);
    }
    return ret;
}

void add_mutual(const struct scene *s, const struct thread_group *group,
                const struct thread_group *other, const struct intervals *waits, struct text *words)
{
    const struct mutual_waits here = waits_between(s, group, waits, other);
    const struct mutual_waits there = waits_between(s, other, waits, group);
    const struct mutual_waits *sender =
        here.longest_send_ns > there.longest_send_ns ? &here : &there;
    double part = share_of(there.for_other_ns, there.all_ns);
    if (part < worth_telling || sender->longest_send_ns < LEAST_NS)
        return;
    if (part < most_of_it) {
        text_add(words, " For ");
        add_percent(words, part);
        text_add(words, " of that time each");
    } else {
        text_add(words, " Each");
    }
    text_addf(words,
              " waits for the other: nobody reads the %s that is full. A thread that does avoids "
              "it, or poll(), or Python's communicate().",
              wait_thing_name(sender->full));
}
