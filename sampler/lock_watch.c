#include "sampler/lock_watch.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "sampler/state.h"

bool lock_watch_wants(const uint64_t args[6])
{
    enum { TAKEN_AND_WAITED = 2, RWLOCK_WAITED = 3, LOCK_PI2 = 13 };
    int op = (int)args[1] & FUTEX_CMD_MASK;
    uint32_t value = (uint32_t)args[2];
    if (op == FUTEX_LOCK_PI || op == LOCK_PI2)
        return true;
    bool is_owner = value & FUTEX_WAITERS && value & FUTEX_TID_MASK; /* of a robust mutex */
    if (op == FUTEX_WAIT)
        return value == TAKEN_AND_WAITED || is_owner;
    return op == FUTEX_WAIT_BITSET &&
           (value == TAKEN_AND_WAITED || value == RWLOCK_WAITED || is_owner);
}

/* An rwlock's word is none of its first; all else begins with the word. */
static uint32_t bytes_before(const uint64_t args[6])
{
    bool maybe_rwlock = ((int)args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    return maybe_rwlock && args[0] >= LOCK_BYTES_BEFORE ? LOCK_BYTES_BEFORE : 0;
}

/* The place of the lock with WORD, maybe a new one.  NULL: there is none. */
static struct watched_lock *place_of(struct lock_watch *w, uint64_t word)
{
    struct watched_lock *place = NULL;
    for (size_t i = 0; i < w->n; i++) {
        if (w->locks[i].newest && w->locks[i].word == word)
            return &w->locks[i];
        if (!w->locks[i].newest && !place)
            place = &w->locks[i];
    }
    if (!place && w->n < WATCHED_LOCKS)
        place = &w->locks[w->n++];
    if (place)
        *place = (struct watched_lock){.word = word};
    return place;
}

uint32_t lock_watch_bytes(const struct watched_lock *lock)
{
    enum { FROM_WORD = 20 }; /* up to a mutex's kind, an rwlock's writer */
    return lock->before + FROM_WORD;
}

static void enter(struct watched_lock *lock, struct thread *t, const uint64_t args[6])
{
    t->lock = lock;
    t->older_waiter = lock->newest;
    if (lock->newest)
        lock->newest->newer_waiter = t;
    lock->newest = t;
    lock->is_new = true;
    lock->shared |= !(args[1] & FUTEX_PRIVATE_FLAG);
    if (!lock->read_ns)
        lock->before = bytes_before(args);
}

void lock_watch_sampled(struct sampler *s, struct thread *t, struct sample_message *m,
                        bool may_allocate)
{
    struct process *p = t->process;
    const struct snapshot *snapshot = &m->snapshot;
    lock_watch_leave(t);
    if (t->ended || t->zombie || s->config.single_shot || !s->can.schedstat ||
        snapshot->state != THREAD_BLOCKED || snapshot->syscall != SYS_futex ||
        !lock_watch_wants(snapshot->syscall_args))
        return;
    if (!p->lock_watch && may_allocate)
        p->lock_watch = xcalloc(1, sizeof *p->lock_watch);
    struct watched_lock *lock =
        p->lock_watch ? place_of(p->lock_watch, snapshot->syscall_args[0]) : NULL;
    counters_add(&s->counters, COUNT_LOCKS_UNWATCHED, !lock);
    if (!lock)
        return;
    enter(lock, t, snapshot->syscall_args);
    m->head.flags |= SAMPLE_LOCK_WATCHED;
}

void lock_watch_leave(struct thread *t)
{
    struct watched_lock *lock = t->lock;
    if (!lock)
        return;
    if (t->newer_waiter)
        t->newer_waiter->older_waiter = t->older_waiter;
    else
        lock->newest = t->older_waiter;
    if (t->older_waiter)
        t->older_waiter->newer_waiter = t->newer_waiter;
    t->lock = NULL;
    t->newer_waiter = t->older_waiter = NULL;
    struct lock_watch *w = t->process->lock_watch;
    while (w->n && !w->locks[w->n - 1].newest)
        w->n--;
}
