#include "summary/returns.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "summary/group_times.h"
#include "summary/known.h"
#include "summary/polling.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"

static const double waits_mostly = 0.5;
static const double never_returns = 0.98; /* of its time away, the function that waits is there */
enum { LEAST_WAITS = 10 };                /* who waits once and then works does not stall */

void returns_release(struct returns *r, const struct thread_group *group)
{
    for (size_t i = 0; r->stalls && i < group->n; i++)
        stalls_release(&r->stalls[i]);
    free(r->stalls);
    call_path_release(&r->path);
}

/* Is it for what a program that subprocess started says? */
static bool is_for_program(const struct call_tree *t, uint32_t node)
{
    for (; node && call_tree_node(t, node).role != ROLE_OWN; node = call_tree_node(t, node).parent)
        if (known_does(call_tree_node(t, node).frame, DOES_RUN_PROGRAM))
            return true;
    return false;
}

/* Is NODE, a wait, one for whoever comes, as far as its call and the functions there say so? */
static bool is_for_requests(const struct call_tree *t, uint32_t node)
{
    static const unsigned queues = 1U << FUTEX_CONDITION | 1U << FUTEX_SEMAPHORE;
    static const char *const calls[] = {"flock", "fcntl", NULL};
    const struct call_node at = call_tree_node(t, node);
    const char *call = at.frame->call;
    if (str_starts(call, "futex"))
        return queues >> at.futex & 1 && !is_for_result(t, node);
    if (is_for_program(t, node))
        return false;
    return !str_is_one_of(call, calls) && !str_starts(call, "wait") && !is_sleep(at.frame);
}

static bool is_there(const struct judgement *s, const struct returns *r, const struct run *run)
{
    if (run->state != RUN_BLOCKED)
        return false;
    uint32_t node = call_tree_of(s->g->tree, run->at);
    if (node == r->path.node)
        return true;
    if (class_of_node(s->g->tree, node) != (r->sleeps ? CLASS_SLEEP : CLASS_ORDINARY))
        return false;
    const struct call_path_keys keys = call_path_keys(s->g->tree, node);
    return call_path_same(&keys, &r->keys);
}

/* How long THREAD was away, in *RET_NS; returns for how much of it R's function was there. */
static int64_t inside_ns(const struct judgement *s, const struct returns *r,
                         const struct profile_thread *thread, const struct stalls *stalls,
                         int64_t *ret_ns)
{
    int64_t ns = 0;
    size_t k = 0;
    for (size_t i = 0; i < stalls->n; i++) {
        while (thread->runs[k].start_ns < stalls->away.items[i].start_ns)
            k++;
        int64_t here_ns = thread->runs[k].weights.wall_ns;
        bool inside = call_tree_is_within(s->g->tree, call_tree_of(s->g->tree, thread->runs[k].at),
                                          r->function);
        ns += inside ? here_ns : 0;
        *ret_ns += here_ns;
    }
    return ns;
}

/* What part of GROUP's time waits of NS are, by samples, scaled to the kernel's count. */
static double waits_share(const struct thread_group *group, int64_t ns)
{
    return share_of(ns, group->wall_ns) * off_cpu_scale(group);
}

struct return_sums {
    uint64_t waits; /* there, most of which no sample sees end */
    int64_t there_ns;
    int64_t answer_ns; /* of it, for an answer: from whom the program connected to */
    int64_t client_ns; /* for whoever has connected, or will */
    int64_t away_ns;
    int64_t within_ns; /* of it, in the function that waits */
};

/* What THREAD does, for R. */
static struct stalls stalls_of(const struct judgement *s, const struct returns *r,
                               const struct profile_thread *thread, struct return_sums *sums)
{
    static const unsigned clients = 1U << BLOCKER_CLIENT | 1U << BLOCKER_LISTENER;
    struct stalls stalls = stalls_begin(thread);
    for (size_t i = 0; i < thread->n_runs && !thread->n_folded; i++) {
        const struct run *run = &thread->runs[i];
        if (!is_there(s, r, run)) {
            stalls_add_away(&stalls, run);
            continue;
        }
        int64_t ns = run->weights.wall_ns;
        stalls_add_back(&stalls, run, true);
        sums->there_ns += ns;
        sums->waits += run->waits ? run->waits : 1;
        sums->answer_ns += holders_is_for(s->holders, run->at, 1U << BLOCKER_PEER) ? ns : 0;
        sums->client_ns += holders_is_for(s->holders, run->at, clients) ? ns : 0;
    }
    return stalls;
}

/* What sleeps so briefly gives way, or polls: it works at no rate. */
static bool is_too_short(const struct return_sums *sums)
{
    enum { LEAST_SLEEP_NS = 2 * NS_PER_MS };
    return sums->waits && sums->there_ns / (int64_t)sums->waits < LEAST_SLEEP_NS;
}

static void see_threads(const struct judgement *s, const struct thread_group *group,
                        struct returns *r)
{
    struct return_sums sums = {.there_ns = 0};
    r->stalls = xcalloc(group->n, sizeof *r->stalls);
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *thread = group->threads[i]->thread;
        r->stalls[i] = stalls_of(s, r, thread, &sums);
        sums.within_ns += inside_ns(s, r, thread, &r->stalls[i], &sums.away_ns);
    }
    r->n = sums.waits;
    r->away_ns = sums.waits ? sums.away_ns / (int64_t)sums.waits : 0;
    bool never_left = r->function && share_of(sums.within_ns, sums.away_ns) >= never_returns;
    bool returns = 2 * sums.answer_ns <= sums.there_ns && !(r->sleeps && is_too_short(&sums));
    r->share = returns ? waits_share(group, sums.there_ns) : 0;
    r->serves = !r->sleeps && (never_left || 2 * sums.client_ns > sums.there_ns);
}

/* The path to the wait in CLASS that has most of the time of GROUP, if that is most of its time. */
static bool find_wait(struct thread_group *group, enum wait_class class, struct call_path *ret)
{
    if (!heaviest_in_class(&group->tally, class, ret))
        return false;
    if (waits_share(group, ret->ns) >= waits_mostly)
        return true;
    call_path_release(ret);
    return false;
}

bool returns_find(const struct judgement *s, struct thread_group *group, struct returns *ret)
{
    *ret = (struct returns){.n = 0};
    if (!find_wait(group, CLASS_ORDINARY, &ret->path)) {
        ret->sleeps = find_wait(group, CLASS_SLEEP, &ret->path);
        if (!ret->sleeps)
            return false;
    }
    if (ret->sleeps || is_for_requests(s->g->tree, ret->path.node)) {
        ret->keys = call_path_keys(s->g->tree, ret->path.node);
        ret->function = call_tree_own(s->g->tree, ret->path.node);
        see_threads(s, group, ret);
    }
    if (ret->share >= waits_mostly)
        return true;
    returns_release(ret, group);
    return false;
}

static bool waits_inside(const struct judgement *s, const struct run *run)
{
    const struct shown_frame *frame =
        call_tree_node(s->g->tree, call_tree_of(s->g->tree, run->at)).frame;
    return run->state == RUN_BLOCKED && frame && frame->call && str_starts(frame->call, "futex");
}

/* For how long of WHEN does THREAD wait for others of its process, of which one waits for a CPU? */
static int64_t crowded_ns(const struct judgement *s, const struct profile_thread *thread,
                          struct interval when)
{
    struct intervals waits = {.n = 0};
    struct intervals crowd = {.n = 0};
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct profile_thread *t = s->g->summaries.threads[i].thread;
        if (t->process.ix != thread->process.ix)
            continue;
        for (struct run_parts p = run_parts_of(t, &when, 1); run_parts_next(&p);)
            if (t == thread && waits_inside(s, p.run))
                intervals_join(&waits, p.when);
            else if (t != thread && p.run->state == RUN_RUNNABLE)
                intervals_add(&crowd, p.when);
    }
    intervals_unite(&crowd);
    int64_t ns = intervals_both_ns(&waits, &crowd);
    intervals_release(&waits);
    intervals_release(&crowd);
    return ns;
}

/* Is GROUP, which works at a rate, away for far longer than else, of many times, and not for want
 * of a CPU, of its own or of those it waits for?  Then a frame of a game, a turn of a control is
 * late by that.  Who looks for something again and again is late for nothing, and of several that
 * share the work it is another's turn. */
static bool is_late(const struct judgement *s, struct thread_group *group, const struct returns *r,
                    const struct stall *longest)
{
    enum { LEAST_TURNS = 100, TIMES = 10 };
    int64_t least_ns = max_i64(PAUSE_NS, TIMES * r->away_ns);
    int64_t ns = stall_ns(longest) - longest->runqueue_ns;
    if (group->n > 1 || !r->sleeps || r->n < LEAST_TURNS || ns < least_ns)
        return false;
    ns -= crowded_ns(s, group->threads[0]->thread,
                     (struct interval){longest->start_ns, longest->end_ns});
    return ns >= least_ns && !polling_at(s, group, r->path.node).asked;
}

/* Of the LONGEST time away, in which a thread is DOING. */
static enum returns_stall kind_of_stall(const struct returns *r, const struct stall *longest,
                                        const struct doing *doing, bool late)
{
    if (!doing->told)
        return NO_STALL;
    if (doing->odd)
        return stall_ns(longest) >= STALL_NS ? STALL_ODD : NO_STALL;
    if (late)
        return STALL_ODD;
    return r->serves ? STALL_OF_REQUESTS : NO_STALL;
}

enum returns_stall returns_stall(const struct judgement *s, struct thread_group *group,
                                 const struct returns *r)
{
    const struct stall *longest = &r->stalls[stalls_worst(r->stalls, group->n)].longest;
    if (profile_time_step_ns(s->p) > 0 || r->n < LEAST_WAITS) /* samples lost their order */
        return NO_STALL;
    if (is_pause(s, group, r->stalls))
        return STALL_ODD;
    bool late = is_late(s, group, r, longest);
    if ((stall_ns(longest) < STALL_NS && !late) || longest->samples < STALL_SAMPLES)
        return NO_STALL;
    struct doing doing = doing_in_stall(s, group, r->stalls);
    enum returns_stall stall = kind_of_stall(r, longest, &doing, late);
    doing_release(&doing);
    return stall;
}

bool returns_are_asked(const struct judgement *s, const struct thread_group *group)
{
    return group == s->lead || group->leads;
}

void returns_add_rest(const struct judgement *s, struct thread_group *group, struct text *words)
{
    struct returns r;
    if (!returns_find(s, group, &r))
        return;
    if (r.serves)
        add_away(s, group, r.stalls, false, words);
    returns_release(&r, group);
}
