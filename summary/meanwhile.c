#include "summary/meanwhile.h"

#include "base/share.h"
#include "summary/cause.h"
#include "summary/wait_class.h"

static const double meanwhile_part = 0.8; /* of the wait: for so long somebody else is busy */

/* Does RUN wait for whoever comes, as a server for its clients? */
static bool is_for_anybody(const struct groups *g, const struct run *run)
{
    const struct wait *wait = profile_see_wait(g->p, run->at.wait);
    return wait && (wait->side.blocker.kind == BLOCKER_LISTENER ||
                    wait->side.blocker.kind == BLOCKER_CLIENT);
}

/* Is RUN, of THREAD, a wait, but none for work?  A main thread that sleeps looks after others. */
static bool is_kept(const struct groups *g, const struct profile_thread *thread,
                    const struct run *run)
{
    static const unsigned kept =
        1U << CAUSE_CHILD | 1U << CAUSE_PEER | 1U << CAUSE_LOCK | 1U << CAUSE_GIL;
    enum cause cause = cause_of_run(g->tree, g->v, run);
    return run->state == RUN_BLOCKED && !is_for_anybody(g, run) &&
           (kept >> cause & 1 || (cause == CAUSE_TIMER && !thread->main));
}

static bool is_busy(const struct groups *g, const struct profile_thread *thread,
                    const struct run *run, enum busy_with with)
{
    return is_busy_class(class_of_run(g->tree, run), run) ||
           (with == BUSY_KEPT && is_kept(g, thread, run));
}

/* Is RUN a wait for a lock whose holder nobody could read?  Whoever waits for its thread may wait
 * for that lock. */
static bool is_for_unknown_holder(const struct groups *g, const struct profile_thread *thread,
                                  const struct run *run)
{
    const struct wait *wait = profile_see_wait(g->p, run->at.wait);
    const uint32_t node = call_tree_of(g->tree, run->at);
    enum futex_kind kind = call_tree_node(g->tree, node).futex;
    (void)thread;
    return run->state == RUN_BLOCKED && (kind == FUTEX_LOCK || kind == FUTEX_RWLOCK) && wait &&
           wait->side.blocker.kind == BLOCKER_UNKNOWN && !is_for_result(g->tree, node);
}

/* Is THREAD ever busy?  To cut the runs of 1,000 blocked threads at each of 100,000 waits takes a
 * minute; most such threads have few runs, and none that is busy. */
static bool is_ever_busy(const struct groups *g, const struct profile_thread *thread,
                         enum busy_with with)
{
    size_t i = 0;
    while (i < thread->n_runs && !is_busy(g, thread, &thread->runs[i], with))
        i++;
    return i < thread->n_runs;
}

/* When GROUP's threads are busy in WAITS, one thread's times after the other's. */
static struct intervals busy_times(const struct groups *g, const struct thread_group *group,
                                   enum busy_with with, const struct intervals *waits)
{
    struct intervals busy = {.n = 0};
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *thread = group->threads[i]->thread;
        if (thread->n_folded || !is_ever_busy(g, thread, with))
            continue;
        for (struct run_parts p = run_parts_of(thread, waits->items, waits->n); run_parts_next(&p);)
            if (is_busy(g, thread, p.run, with))
                intervals_add(&busy, p.when);
    }
    return busy;
}

static bool is_of_pool(const struct thread_group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (!group->threads[i]->of_pool)
            return false;
    return true;
}

/* For what part of WAITS a thread of GROUP is busy, on average.  Some of them: of threads that come
 * and go, which are kept from their work, and of a pool's, whose RESULTS are waited for until the
 * last one has come. */
static double busy_part(const struct groups *g, const struct thread_group *group,
                        enum busy_with with, const struct intervals *waits, bool results)
{
    struct intervals busy = busy_times(g, group, with, waits);
    bool in_turn =
        (with == BUSY_KEPT && group_comes_and_goes(g, group)) || (results && is_of_pool(group));
    if (in_turn)
        intervals_unite(&busy);
    double part = share_of(intervals_ns(&busy), intervals_ns(waits));
    intervals_release(&busy);
    return in_turn ? part : part / (double)group->n;
}

/* Can only a thread of its own process, or a child, end RUN's wait? */
static bool is_ended_by_family(const struct groups *g, const struct profile_thread *thread,
                               const struct run *run)
{
    (void)thread;
    const struct wait *wait = profile_see_wait(g->p, run->at.wait);
    if (run->state != RUN_BLOCKED)
        return false;
    return (wait && wait->side.inside) || cause_of_run(g->tree, g->v, run) == CAUSE_CHILD;
}

static bool has_other_process(const struct profile *p, const struct wait_side *side, pid_t own)
{
    if (side->blocker.kind != BLOCKER_SEVERAL)
        return blocker_is_process(&side->blocker) && side->blocker.pid != own;
    const struct listed_blocker *one = profile_see_blocker(p, side->list);
    while (one && one->blocker.pid == own)
        one = profile_see_blocker(p, one->next);
    return one != NULL;
}

/* Is another process at the other end of what RUN waits for?  Then it is that one's, also where its
 * own process never closed that end. */
static bool is_for_other_process(const struct groups *g, const struct profile_thread *thread,
                                 const struct run *run)
{
    const struct wait *wait = profile_see_wait(g->p, run->at.wait);
    return run->state == RUN_BLOCKED && wait &&
           has_other_process(g->p, &wait->side, profile_see_process(g->p, thread->process)->pid);
}

static bool is_recorded(const struct groups *g, pid_t pid)
{
    uint64_t unused;
    return map_get(&g->pids, (uint32_t)pid, &unused);
}

/* Is a process that is not recorded at the other end of what RUN waits for?  One whose unix sockets
 * cannot be looked at cannot be recorded, either; of TCP's it is known who listens. */
static bool is_for_unrecorded(const struct groups *g, const struct profile_thread *thread,
                              const struct run *run)
{
    const struct wait *wait = profile_see_wait(g->p, run->at.wait);
    (void)thread;
    if (run->state != RUN_BLOCKED || !wait)
        return false;
    const struct blocker *b = &wait->side.blocker;
    const struct listener *l = profile_listener(g->p, b);
    if (b->kind == BLOCKER_PEER && !b->pid)
        return l ? !is_recorded(g, l->pid) : b->net == NET_UNIX && b->host.ix;
    return blocker_is_process(b) && !is_recorded(g, b->pid);
}

/* Does RUN wait for what comes of a pool's work? */
static bool is_for_results(const struct groups *g, const struct profile_thread *thread,
                           const struct run *run)
{
    (void)thread;
    return run->state == RUN_BLOCKED &&
           is_for_known_result(g->tree, call_tree_of(g->tree, run->at));
}

typedef bool run_test(const struct groups *g, const struct profile_thread *thread,
                      const struct run *run);

/* Is TEST true of any run of GROUP's? */
static bool is_ever(const struct groups *g, const struct thread_group *group, run_test *test)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *thread = group->threads[i]->thread;
        for (size_t k = 0; k < thread->n_runs; k++)
            if (test(g, thread, &thread->runs[k]))
                return true;
    }
    return false;
}

/* Of what part of what GROUP does in WAITS is TEST true? */
static double part_that_is(const struct groups *g, const struct thread_group *group,
                           const struct intervals *waits, run_test *test)
{
    int64_t true_ns = 0;
    int64_t all_ns = 0;
    if (!is_ever(g, group, test))
        return 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *thread = group->threads[i]->thread;
        for (struct run_parts p = run_parts_of(thread, waits->items, waits->n);
             !thread->n_folded && run_parts_next(&p);) {
            int64_t ns = p.when.end_ns - p.when.start_ns;
            true_ns += test(g, thread, p.run) ? ns : 0;
            all_ns += ns;
        }
    }
    return share_of(true_ns, all_ns);
}

static bool are_mostly(const struct groups *g, const struct thread_group *group,
                       const struct intervals *waits, run_test *test)
{
    return part_that_is(g, group, waits, test) > 0.5;
}

static bool is_below(const struct profile *p, process_id id, process_id ancestor)
{
    uint32_t most = profile_process_count(p); /* no circle, whatever PIDs were used again */
    while (id.ix && id.ix != ancestor.ix && most--)
        id = profile_see_process(p, id)->parent;
    return id.ix == ancestor.ix;
}

/* Is one of A's processes one of B's, or a descendant of it, or the other way round?  Its threads
 * may pass on what others of its family did. */
static bool is_of_one_family(const struct profile *p, const struct thread_group *a,
                             const struct thread_group *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++) {
            process_id one = a->threads[i]->thread->process;
            process_id other = b->threads[k]->thread->process;
            if (is_below(p, one, other) || is_below(p, other, one))
                return true;
        }
    return false;
}

static bool is_of_one_process(const struct thread_group *a, const struct thread_group *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            if (a->threads[i]->thread->process.ix == b->threads[k]->thread->process.ix)
                return true;
    return false;
}

/* May GROUP wait for OTHER, which waits in WAITS for a lock whose holder is unknown? */
static bool is_behind_lock(const struct groups *g, const struct thread_group *group,
                           const struct thread_group *other, const struct intervals *waits)
{
    for (size_t i = 0; i < group->n; i++) /* it may be a part of OTHER */
        if (group->threads[i]->thread == other->threads[0]->thread)
            return false;
    return is_of_one_process(other, group) &&
           part_that_is(g, other, waits, is_for_unknown_holder) >= meanwhile_part;
}

struct meanwhile meanwhile_of(const struct groups *g, const struct thread_group *group,
                              enum busy_with with, const struct intervals *waits)
{
    struct meanwhile m = {0};
    if (!waits->n || are_mostly(g, group, waits, is_for_unrecorded))
        return m;
    bool by_family = are_mostly(g, group, waits, is_ended_by_family);
    bool results = are_mostly(g, group, waits, is_for_results);
    bool by_other = are_mostly(g, group, waits, is_for_other_process);
    for (size_t i = 0; i < g->n; i++) {
        const struct thread_group *other = &g->items[i];
        bool inside = is_of_one_process(other, group);
        if (other == group || (with == BUSY_KEPT && !inside) || (by_other && inside) ||
            (by_family && !is_of_one_family(g->p, other, group)))
            continue;
        double part = busy_part(g, &g->items[i], with, waits, results);
        if (part < meanwhile_part && with == BUSY_WORK && is_behind_lock(g, group, other, waits))
            m.candidates++;
        if (part < meanwhile_part)
            continue;
        m.busy = &g->items[i];
        m.part = part;
        m.candidates++;
    }
    m.busy = m.candidates == 1 ? m.busy : NULL; /* who only waits for a lock is no BUSY one */
    return m;
}
