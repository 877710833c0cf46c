#include "sampler/lock_reading.h"

#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/capture.h"
#include "sampler/space_lock.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum {
    READ_SHARE = 200, /* one part of a CPU is for the readings of a process */
    CREDIT_NS = NS_PER_S / 4,
    UNREAD_AFTER_LOOKS = 3,
    MOST_PROOFS = 3, /* threads that are asked whether they wait still */
};

/* Does a thread wait for LOCK that did so before the reading?  A lock mostly wakes the thread that
 * has waited longest, so the newest are asked. */
static bool is_waited_for(struct sampler *s, const struct watched_lock *lock)
{
    struct thread *t = lock->newest;
    for (int i = 0; i < MOST_PROOFS && t; i++, t = t->older_waiter) {
        struct schedstat now;
        if (thread_read_schedstat(s, t, &now) == 0 && claim_holds(&t->sampled, &now))
            return true;
    }
    return false;
}

/* BYTES: NULL if they were not read since READING. */
static bool tell(struct sampler *s, const struct process *p, const struct watched_lock *lock,
                 const uint8_t *bytes, struct reading reading)
{
    struct lock_message m = {
        .head = {.time_ns = reading.begun_ns, .look_ns = p->lock_watch->look_ns},
        .word = lock->word,
        .read_ns = reading.done_ns,
        .since_ns = lock->read_ns,
        .before = lock->before,
        .n_bytes = bytes ? lock_watch_bytes(lock) : 0};
    if (bytes)
        memcpy(m.bytes, bytes, m.n_bytes);
    return capture_emit_lock(s, p, &m);
}

static void note_bytes(struct sampler *s, const struct process *p, struct watched_lock *lock,
                       const uint8_t *bytes, struct reading reading)
{
    bool same = lock->read_ns && memcmp(lock->bytes, bytes, lock_watch_bytes(lock)) == 0;
    if (same && !lock->is_new && !lock->unread) {
        lock->read_ns = reading.begun_ns;
    } else if (is_waited_for(s, lock) && tell(s, p, lock, bytes, reading)) {
        memcpy(lock->bytes, bytes, lock_watch_bytes(lock));
        lock->read_ns = reading.begun_ns;
        lock->is_new = lock->unread = false;
    }
}

/* LOCK is not mapped. */
static void forget(struct sampler *s, const struct process *p, struct watched_lock *lock)
{
    (void)tell(s, p, lock, NULL, (struct reading){lock->read_ns, lock->read_ns});
    while (lock->newest)
        lock_watch_leave(lock->newest);
}

static void read_all(struct sampler *s, struct process *p)
{
    uint8_t bytes[WATCHED_LOCKS][LOCK_BYTES];
    struct mem_span spans[WATCHED_LOCKS];
    struct watched_lock *locks[WATCHED_LOCKS];
    struct lock_watch *w = p->lock_watch;
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct watched_lock *lock = &w->locks[i];
        if (!lock->newest)
            continue;
        spans[n] = (struct mem_span){lock->word - lock->before, bytes[n], lock_watch_bytes(lock)};
        locks[n++] = lock;
    }
    struct reading reading = {.begun_ns = clock_now_ns()};
    size_t left = mem_read_spans(p->live, spans, n);
    reading.done_ns = clock_now_ns();
    size_t i = 0;
    for (; i < n && left >= spans[i].len; i++) {
        left -= spans[i].len;
        note_bytes(s, p, locks[i], bytes[i], reading);
    }
    if (i < n) /* those behind it were not read */
        forget(s, p, locks[i]);
}

/* What the worker knows of a lock that was not read for long is outdated. */
static void tell_unread(struct sampler *s, const struct process *p)
{
    struct lock_watch *w = p->lock_watch;
    for (size_t i = 0; i < w->n; i++) {
        struct watched_lock *lock = &w->locks[i];
        if (lock->newest && lock->read_ns && !lock->unread &&
            s->tick_ns - lock->read_ns > UNREAD_AFTER_LOOKS * w->look_ns)
            lock->unread = tell(s, p, lock, NULL, (struct reading){lock->read_ns, lock->read_ns});
    }
}

/* The next one is at the first tick that is not before that of the duty cycle. */
static void read_in_turn(struct sampler *s, struct process *p)
{
    struct lock_watch *w = p->lock_watch;
    w->reading.credit_ns = CREDIT_NS;
    if (!duty_cycle_begin(&w->reading)) {
        counters_add(&s->counters, COUNT_LOCKS_PUT_OFF, 1);
        return;
    }
    w->look_ns = max_i64(w->look_ns, s->interval_ns);
    read_all(s, p);
    w->ran = false;
    duty_cycle_end(&w->reading, READ_SHARE, 0);
    int64_t pause_ns = max_i64(w->reading.due_ns - s->tick_ns, 0);
    w->look_ns = s->interval_ns * (1 + pause_ns / s->interval_ns);
}

static void read_locks_of(struct sampler *s, struct process *p)
{
    if (!space_is_locked(s, p))
        read_in_turn(s, p);
    tell_unread(s, p);
}

void lock_reading_look(struct sampler *s, struct process *p)
{
    if (!p->lock_watch || !p->lock_watch->n)
        return;
    read_locks_of(s, p);
    p->lock_watch->ran = true; /* maybe since this reading, until it is seen that none does */
}

void lock_reading_rest(struct sampler *s, struct process *p, int64_t now_ns)
{
    struct lock_watch *w = p->lock_watch;
    if (!w || !w->n)
        return;
    bool as_before = !w->ran;
    for (size_t i = 0; i < w->n; i++) {
        struct watched_lock *lock = &w->locks[i];
        bool known = !lock->is_new && !lock->shared && !lock->unread;
        if (lock->newest && known && !w->ran)
            lock->read_ns = now_ns;
        as_before = as_before && (known || !lock->newest);
    }
    if (!as_before)
        read_locks_of(s, p);
}
