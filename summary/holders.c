#include "summary/holders.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/share.h"
#include "summary/intervals.h"
#include "summary/once.h"

static uint64_t thread_key(pid_t pid, pid_t tid)
{
    return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

/* Puts thread I, with KEY in BY, in front of those that have it, too. */
static void chain(struct map *by, uint64_t key, uint32_t i, uint32_t *ret_before)
{
    uint64_t before;
    if (map_get(by, key, &before))
        *ret_before = (uint32_t)before;
    map_put(by, key, i);
}

void holders_init(struct holders *h, const struct profile *p, struct view *v)
{
    uint32_t n = profile_thread_count(p);
    *h = (struct holders){.p = p,
                          .v = v,
                          .before = xcalloc(n + 1, sizeof *h->before),
                          .sibling = xcalloc(n + 1, sizeof *h->sibling)};
    for (uint32_t i = 1; i <= n; i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        if (!t->process.ix || t->n_folded) /* a free place, or many threads that have ended */
            continue;
        pid_t pid = profile_see_process(p, t->process)->pid;
        chain(&h->by_thread, thread_key(pid, t->tid), i, &h->before[i]);
        chain(&h->by_process, (uint32_t)pid, i, &h->sibling[i]);
    }
}

const struct wait_side *holders_side(struct holders *h, struct spot at)
{
    uint64_t known;
    if (map_get(&h->by_spot, spot_key(at), &known))
        return &h->sides[known];
    h->sides = array_reserve(h->sides, &h->capacity, h->n + 1, sizeof *h->sides);
    h->sides[h->n] = wait_side_of(h->p, h->v, at);
    map_put(&h->by_spot, spot_key(at), h->n);
    return &h->sides[h->n++];
}

/* Is B one by which the process that waits wakes itself? */
static bool is_its_own(const struct blocker *b)
{
    static const unsigned things =
        1U << THING_EVENTFD | 1U << THING_TIMER | 1U << THING_SIGNALS | 1U << THING_INOTIFY;
    return b->kind == BLOCKER_ITSELF || (b->kind == BLOCKER_UNKNOWN && things >> b->thing & 1);
}

bool holders_is_for(struct holders *h, struct spot at, unsigned kinds)
{
    const struct wait_side *side = at.wait.ix ? holders_side(h, at) : NULL;
    if (!side || side->thing != THING_EVENTS)
        return side && kinds >> side->blocker.kind & 1;
    bool some = false;
    const struct listed_blocker *one = profile_see_blocker(h->p, side->list);
    for (; one; one = profile_see_blocker(h->p, one->next)) {
        bool wanted = kinds >> one->blocker.kind & 1;
        if (!wanted && !is_its_own(&one->blocker))
            return false;
        some |= wanted;
    }
    return some;
}

static bool is_remote(const struct holders *h, const struct blocker *b)
{
    static const char *const own[] = {"127.", "[::1]", "[::ffff:127.", "0.0.0.0", "[::]", NULL};
    bool inet = b->net == NET_TCP || b->net == NET_UDP;
    return b->kind == BLOCKER_PEER && !b->pid && inet && b->host.ix &&
           !str_starts_any(profile_text(h->p, b->host), own);
}

bool holders_is_remote(struct holders *h, struct spot at)
{
    const struct wait_side *side = at.wait.ix ? holders_side(h, at) : NULL;
    if (!side || side->thing != THING_EVENTS || !side->list.ix)
        return side && is_remote(h, &side->blocker);
    bool some = false;
    const struct listed_blocker *one = profile_see_blocker(h->p, side->list);
    for (; one; one = profile_see_blocker(h->p, one->next)) {
        if (!is_remote(h, &one->blocker) && !is_its_own(&one->blocker))
            return false;
        some |= is_remote(h, &one->blocker);
    }
    return some && !side->more;
}

/* One that was there when the recording began may have been met after the one that waits. */
static bool lives_during(const struct profile_thread *t, const struct run *run)
{
    return t->n_runs && !t->n_folded && run_end_ns(run) >= t->start_ns &&
           (!t->ended || run->start_ns <= t->end_ns);
}

/* The thread that was TID of PID during RUN: a tid may be another one's later. */
static const struct profile_thread *find_thread(const struct holders *h, pid_t pid, pid_t tid,
                                                const struct run *run)
{
    uint64_t i;
    if (!map_get(&h->by_thread, thread_key(pid, tid), &i))
        return NULL;
    for (; i; i = h->before[i]) {
        const struct profile_thread *t = profile_see_thread(h->p, (thread_id){(uint32_t)i});
        if (lives_during(t, run))
            return t;
    }
    return NULL;
}

/* The thread that RUN is of; NULL: none. */
static const struct profile_thread *thread_of_run(const struct holders *h, const struct run *run)
{
    for (uint32_t i = 1; i <= profile_thread_count(h->p); i++) {
        const struct profile_thread *t = profile_see_thread(h->p, (thread_id){i});
        if (run >= t->runs && run < t->runs + t->n_runs)
            return t;
    }
    return NULL;
}

/* Does T, in the middle of RUN, make what those wait for that ask in ASKER? */
static bool makes_meanwhile(const struct holders *h, const struct profile_thread *t,
                            const struct run *run, const struct shown_frame *asker)
{
    int64_t middle_ns = run->start_ns + (run_end_ns(run) - run->start_ns) / 2;
    const struct interval then = {middle_ns, middle_ns + 1};
    struct run_parts parts = run_parts_of(t, &then, 1);
    size_t n = 0;
    if (t->n_folded || !run_parts_next(&parts) || !parts.run->at.stack.ix)
        return false;
    const struct shown_frame *stack = view_stack(h->v, parts.run->at, &n);
    return once_makes(asker, stack, n);
}

/* The only thread that can make what RUN waits for; NULL: there is none, or several. */
static const struct profile_thread *find_maker(const struct holders *h, const struct run *run)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(h->v, run->at, &n);
    const struct shown_frame asker = *once_asker(stack, n); /* the view's array is used again */
    const struct profile_thread *own = thread_of_run(h, run);
    const struct profile_thread *found = NULL;
    n = 0;
    for (uint32_t i = 1; own && i <= profile_thread_count(h->p); i++) {
        const struct profile_thread *t = profile_see_thread(h->p, (thread_id){i});
        if (t->process.ix != own->process.ix || !makes_meanwhile(h, t, run, &asker))
            continue;
        found = t;
        n++;
    }
    return n == 1 ? found : NULL;
}

const struct profile_thread *holders_thread(struct holders *h, const struct run *run)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(h, run->at) : NULL;
    if (side && side->thing == THING_ONCE)
        return find_maker(h, run);
    bool thread = side && side->blocker.kind == BLOCKER_THREAD;
    return thread ? find_thread(h, side->blocker.pid, side->blocker.tid, run) : NULL;
}

/* How long T ran, or waited for a CPU, during RUN. */
static int64_t work_during(const struct profile_thread *t, const struct run *run)
{
    const struct interval time = interval_of_run(run);
    int64_t ns = 0;
    for (struct run_parts p = run_parts_of(t, &time, 1); run_parts_next(&p);)
        if (p.run->state != RUN_BLOCKED && p.run->state != RUN_MISSED)
            ns += p.when.end_ns - p.when.start_ns;
    return ns;
}

/* The one of process PID's threads that works for most of RUN, while the others hardly do: the
 * kernel says which process is waited for, and not which of its threads.  NULL: there is none, or
 * the process has had too many to look at for each wait. */
static const struct profile_thread *at_work(const struct holders *h, pid_t pid,
                                            const struct run *run)
{
    static const double nearly_all = 0.8;
    static const double most_of_it = 0.5;
    enum { MOST_LOOKED_AT = 64 };
    const struct profile_thread *best = NULL;
    const struct interval time = interval_of_run(run);
    int64_t best_ns = 0;
    int64_t all_ns = 0;
    size_t n = 0;
    uint64_t i = 0;
    (void)map_get(&h->by_process, (uint32_t)pid, &i);
    for (; i && n <= MOST_LOOKED_AT; i = h->sibling[i], n++) {
        const struct profile_thread *t = profile_see_thread(h->p, (thread_id){(uint32_t)i});
        if (!lives_during(t, run))
            continue;
        int64_t ns = work_during(t, run);
        best = !best || ns > best_ns ? t : best;
        best_ns = ns > best_ns ? ns : best_ns;
        all_ns += ns;
    }
    bool works = share_of(best_ns, time.end_ns - time.start_ns) >= most_of_it &&
                 share_of(best_ns, all_ns) >= nearly_all;
    return n <= MOST_LOOKED_AT && works ? best : NULL;
}

const struct profile_thread *holders_follow(struct holders *h, const struct run *run,
                                            bool *ret_chosen)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(h, run->at) : NULL;
    *ret_chosen = false;
    if (!side || !blocker_is_process(&side->blocker))
        return holders_thread(h, run);
    const struct blocker *b = &side->blocker;
    *ret_chosen = !b->tid && side->thing != THING_CHILD; /* main ends the process */
    if (!b->tid && (side->thing == THING_SOCKET || side->thing == THING_EVENTS))
        return at_work(h, b->pid, run);
    return find_thread(h, b->pid, b->tid ? b->tid : b->pid, run);
}

const struct profile_thread *holders_main(const struct holders *h, pid_t pid, const struct run *run)
{
    return find_thread(h, pid, pid, run);
}

void holders_release(struct holders *h)
{
    free(h->sides);
    free(h->before);
    free(h->sibling);
    map_release(&h->by_spot);
    map_release(&h->by_thread);
    map_release(&h->by_process);
    *h = (struct holders){0};
}
