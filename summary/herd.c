#include "summary/herd.h"

#include "summary/known.h"
#include "summary/path_words.h"
#include "summary/rule_classes.h"

enum {
    LEAST_THREADS = 3,
    LEAST_WAKE_NS = 300, /* no kernel puts a thread that sleeps back on a CPU's queue faster */
};

static bool wakes_all(const struct shown_frame *f)
{
    return known_does(f, DOES_WAKE_ALL);
}

/* The thread of PROCESS that is found to wake all for longest; NULL: none. */
static const struct profile_thread *waker_of(const struct judgement *s, process_id process,
                                             struct stack_times *ret)
{
    const struct profile_thread *best = NULL;
    *ret = (struct stack_times){0};
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (t->process.ix != process.ix || !groups_of(s->g, t))
            continue;
        struct stack_times times = rule_times_of(s, t, COUNTED_ALL, wakes_all);
        bool better = times.wall_ns > ret->wall_ns;
        intervals_release(better ? &ret->when : &times.when);
        *ret = better ? times : *ret;
        best = better ? t : best;
    }
    return best;
}

/* Was a waker found to wake all for WAKING_NS, as long as it takes to end all waits of GROUP's?
 * Else something else ends most of them. */
static bool wakes_them(const struct thread_group *group, int64_t waking_ns)
{
    return (uint64_t)waking_ns / LEAST_WAKE_NS >= rule_usage_of(group).voluntary;
}

/* Does GROUP wait at NODE to be woken?  Those that are woken all at once wait for the condition's
 * mutex next, most of the time.  Of a result only those are woken who want it. */
static bool waits_to_be_woken(const struct judgement *s, struct thread_group *group, uint32_t node)
{
    static const double least_share = 0.1;
    enum futex_kind futex = call_tree_node(s->g->tree, node).futex;
    int64_t ns = 0;
    if (is_for_known_result(s->g->tree, node))
        return false;
    if (futex != FUTEX_LOCK)
        return futex == FUTEX_CONDITION || futex == FUTEX_SEMAPHORE;
    for (uint32_t i = 1; i <= call_tree_count(s->g->tree); i++)
        if (call_tree_node(s->g->tree, i).futex == FUTEX_CONDITION)
            ns += tally_self(&group->tally, i);
    return share_of(ns, group->wall_ns) >= least_share;
}

static const char way_out[] =
    ": if one is enough, use pthread_cond_signal(), notify_one() or notify().";

/* The group of WAKER's process that it may wake, all at once, in WAKING_NS; NULL: there is none. */
static const struct thread_group *herd_of(const struct judgement *s,
                                          const struct profile_thread *waker, int64_t waking_ns)
{
    for (size_t i = 0; i < s->g->n; i++) {
        struct thread_group *herd = &s->g->items[i];
        if (herd->n_threads >= LEAST_THREADS && herd->n_paths && !herd->mixed &&
            herd->threads[0]->thread->process.ix == waker->process.ix &&
            waits_to_be_woken(s, herd, herd->paths[0].node) && wakes_them(herd, waking_ns))
            return herd;
    }
    return NULL;
}

/* " It may wake all of 16 task threads, in dispatch a.c:9 > …", of GROUP, whose thread sleeps there
 * for those that it wakes: all of them want the mutex. */
static void add_own_herd(const struct judgement *s, const struct thread_group *group,
                         struct text *words)
{
    static const double least_share = 0.1;
    struct call_path path;
    const struct profile_thread *waker = group->threads[0]->thread;
    struct stack_times times = rule_times_of(s, waker, COUNTED_ALL, wakes_all);
    const struct thread_group *herd = NULL;
    if (share_of(times.wall_ns, group->wall_ns) >= least_share)
        herd = herd_of(s, waker, times.wall_ns);
    if (herd && rule_path_in(s, waker, &times, &path)) {
        text_addf(words, " It may wake all of %s, in ", herd->noun);
        add_way(words, &path);
        text_add(words, way_out);
        call_path_release(&path);
    }
    intervals_release(&times.when);
}

/* Which condition each waits for, and which one is told, is not read: another one may be told. */
void add_herd(const struct judgement *s, struct thread_group *group, uint32_t node,
              struct text *words)
{
    struct stack_times times;
    struct call_path path;
    if (!rule_has_frame(s, wakes_all))
        return;
    if (group->n_threads == 1)
        add_own_herd(s, group, words);
    if (group->n_threads < LEAST_THREADS || !waits_to_be_woken(s, group, node))
        return;
    const struct profile_thread *waker = waker_of(s, group->threads[0]->thread->process, &times);
    if (waker && wakes_them(group, times.wall_ns) && rule_path_in(s, waker, &times, &path)) {
        const struct thread_group *wakers = groups_of(s->g, waker);
        if (wakers == group)
            text_add(words, " They may wake one another, all of them, in ");
        else
            text_addf(words, " %s may wake them all, in ", wakers->noun);
        add_way(words, &path);
        text_add(words, way_out);
        call_path_release(&path);
    }
    intervals_release(&times.when);
}
