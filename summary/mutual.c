#include "summary/mutual.h"

#include "base/clock.h"
#include "summary/rule_words.h"

static const double most_of_it = 0.95;
/* A call that sends for so long has found nobody who takes anything: a reader would have made
 * room.  Nor did anybody free a lock. */
enum { LEAST_NS = NS_PER_S / 2 };

static const struct wait *wait_of(const struct judgement *s, const struct run *run)
{
    return run->state == RUN_BLOCKED ? profile_see_wait(s->p, run->at.wait) : NULL;
}

bool is_for_room(const struct judgement *s, const struct run *run)
{
    static const char *const calls[] = {"write",  "writev",  "pwritev2", "send",
                                        "sendto", "sendmsg", "sendmmsg", NULL};
    static const unsigned things = 1U << THING_PIPE | 1U << THING_SOCKET;
    const struct wait *wait = wait_of(s, run);
    return wait && wait->kind == WAIT_CALL && things >> wait->side.thing & 1 &&
           str_is_one_of(profile_text(s->p, wait->call), calls);
}

/* Is it so, or for a file's lock?  Nobody with nothing to do waits for either. */
static bool is_kept(const struct judgement *s, const struct run *run)
{
    return is_for_room(s, run) || holders_side(s->holders, run->at)->thing == THING_FILE_LOCK;
}

/* Does RUN wait for a process of GROUP, at a pipe or socket or for a file's lock? */
static bool waits_for(const struct judgement *s, const struct run *run,
                      const struct thread_group *group)
{
    static const unsigned things = 1U << THING_PIPE | 1U << THING_SOCKET | 1U << THING_FILE_LOCK;
    if (!wait_of(s, run))
        return false;
    const struct wait_side *side = holders_side(s->holders, run->at);
    if (!(things >> side->thing & 1) || !blocker_is_process(&side->blocker))
        return false;
    for (size_t i = 0; i < group->n; i++)
        if (profile_see_process(s->p, group->threads[i]->thread->process)->pid == side->blocker.pid)
            return true;
    return false;
}

/* What some runs come to: their waits for the other side. */
struct mutual_waits {
    int64_t all_ns, for_other_ns;
    /* The longest is_kept(), what it is for, and the process that has that. */
    int64_t longest_ns;
    enum wait_thing thing;
    pid_t owner;
};

static void add_run(const struct judgement *s, const struct run *run, int64_t ns,
                    const struct thread_group *other, struct mutual_waits *w)
{
    w->all_ns += ns;
    if (!waits_for(s, run, other))
        return;
    w->for_other_ns += ns;
    if (run->waits > 1 || ns <= w->longest_ns || !is_kept(s, run))
        return;
    const struct wait_side *side = holders_side(s->holders, run->at);
    w->longest_ns = ns;
    w->thing = side->thing;
    w->owner = side->blocker.pid;
}

/* Of GROUP's time in WHEN: its waits for OTHER. */
static struct mutual_waits waits_between(const struct judgement *s,
                                         const struct thread_group *group,
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

/* Of HERE, THERE, the waits of both sides. */
static struct mutual mutual_of_waits(const struct mutual_waits *here,
                                     const struct mutual_waits *there)
{
    const struct mutual_waits *kept = here->longest_ns > there->longest_ns ? here : there;
    double part = share_of(there->for_other_ns, there->all_ns);
    if (part < worth_telling || kept->longest_ns < LEAST_NS)
        return (struct mutual){.part = 0};
    return (struct mutual){.part = part, .thing = kept->thing, .owner = kept->owner};
}

struct mutual mutual_of(const struct judgement *s, const struct thread_group *group,
                        struct thread_group *other, const struct intervals *waits)
{
    const process_id process = other->threads[0]->thread->process;
    const struct mutual_waits here = waits_between(s, group, waits, other);
    struct mutual best = {.part = 0};
    for (size_t i = 0; i < s->g->n; i++) {
        struct thread_group *one = &s->g->items[i];
        if (one->mixed || one->threads[0]->thread->process.ix != process.ix)
            continue;
        const struct mutual_waits there = waits_between(s, one, waits, group);
        struct mutual m = mutual_of_waits(&here, &there);
        m.group = one;
        best = m.part > best.part ? m : best;
    }
    return best;
}

void add_no_reader(enum wait_thing thing, struct text *words)
{
    text_addf(words,
              "nobody reads the %s that is full. A thread that does avoids it, or poll(), or "
              "Python's communicate().",
              wait_thing_name(thing));
}

void add_mutual(const struct mutual *m, struct text *words)
{
    if (m->part < most_of_it) {
        text_add(words, " For ");
        add_percent(words, m->part);
        text_add(words, " of that time each");
    } else {
        text_add(words, " Each");
    }
    text_add(words, " waits for the other");
    if (m->thing == THING_FILE_LOCK) {
        text_addf(words, ", unless another thread of %d frees the lock.", m->owner);
    } else {
        text_add(words, ": ");
        add_no_reader(m->thing, words);
    }
}
