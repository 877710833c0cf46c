#include "summary/holders.h"

#include <stdlib.h>

#include "base/alloc.h"

static uint64_t key_of(pid_t pid, pid_t tid)
{
    return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

void holders_init(struct holders *h, const struct profile *p, struct view *v)
{
    uint32_t n = profile_thread_count(p);
    *h = (struct holders){.p = p, .v = v, .before = xcalloc(n + 1, sizeof *h->before)};
    for (uint32_t i = 1; i <= n; i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        if (!t->process.ix || t->n_folded) /* a free place, or many threads that have ended */
            continue;
        uint64_t key = key_of(profile_see_process(p, t->process)->pid, t->tid);
        uint64_t before;
        if (map_get(&h->by_thread, key, &before))
            h->before[i] = (uint32_t)before;
        map_put(&h->by_thread, key, i);
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
    if (!map_get(&h->by_thread, key_of(pid, tid), &i))
        return NULL;
    for (; i; i = h->before[i]) {
        const struct profile_thread *t = profile_see_thread(h->p, (thread_id){(uint32_t)i});
        if (lives_during(t, run))
            return t;
    }
    return NULL;
}

const struct profile_thread *holders_thread(struct holders *h, const struct run *run)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(h, run->at) : NULL;
    bool thread = side && side->blocker.kind == BLOCKER_THREAD;
    return thread ? find_thread(h, side->blocker.pid, side->blocker.tid, run) : NULL;
}

const struct profile_thread *holders_follow(struct holders *h, const struct run *run)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(h, run->at) : NULL;
    if (!side || side->blocker.kind != BLOCKER_PROCESS)
        return holders_thread(h, run);
    const struct blocker *blocker = &side->blocker;
    return find_thread(h, blocker->pid, blocker->tid ? blocker->tid : blocker->pid, run);
}

void holders_release(struct holders *h)
{
    free(h->sides);
    free(h->before);
    map_release(&h->by_spot);
    map_release(&h->by_thread);
    *h = (struct holders){0};
}
