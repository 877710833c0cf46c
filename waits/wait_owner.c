#include "waits/wait_owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/minmax.h"
#include "base/text.h"
#include "pyframes/py_join.h"
#include "pyframes/py_lock.h"
#include "pyframes/py_pthread.h"
#include "target/maps.h"
#include "target/mem_blocks.h"
#include "target/proc.h"
#include "waits/futex_lock.h"

enum {
    SEARCH_SHARE = 200,       /* one part of a CPU is for searches of Python's frames */
    BURST_NS = 2 * NS_PER_MS, /* of those, and then the pause */
};

static struct wait_target target_of(const struct wait_owners *w, uint32_t process)
{
    return w->host->target(w->host->ctx, process);
}

/* ---- other processes ---- */

/* Is the file that A has mapped at ADDR mapped by B, too, at that place in it? */
static bool share(const struct wait_target *a, uint64_t addr, const struct wait_target *b)
{
    const struct mapping *of = maps_find(modules_maps(a->modules), addr);
    if (!of || !of->inode)
        return false;
    return shared_owner_maps(modules_maps(b->modules), of, addr - of->start + of->file_offset);
}

/* B gets the thread NS_TID of the only recorded process but PROCESS, which is S, that has the lock
 * at ADDR. */
static bool find_elsewhere(const struct wait_owners *w, uint32_t process,
                           const struct wait_target *s, uint64_t addr, pid_t ns_tid,
                           struct blocker *b)
{
    size_t n = 0;
    struct blocker found = {.kind = BLOCKER_THREAD};
    struct wait_target other;
    for (uint32_t i = 0; (other = target_of(w, i)).pid; i++) {
        pid_t tid = i == process ? 0 : thread_ids_find(&w->ids, i, ns_tid);
        if (!tid || !share(s, addr, &other))
            continue;
        found.pid = other.pid;
        found.tid = tid;
        n++;
    }
    if (n == 1)
        *b = found;
    return n == 1;
}

/* ---- a wait ---- */

/* Does the lock still have the recorded holder?  That thread is gone, so nobody will give it up. */
static bool still_says(const struct wait_owners *w, const struct lock_wait *wait, pid_t owner)
{
    struct mem *live = target_of(w, wait->sample.process).live;
    return futex_lock_decode(wait->args, live).owner == owner;
}

/* B gets the process of thread TID, if that lives and has the lock OF, too. */
static void add_shared_owner(struct wait_owners *w, pid_t tid, const struct mapping *of,
                             struct blocker *b)
{
    char comm[TASK_COMM_BYTES];
    struct text tame = {0};
    pid_t pid = shared_owner_find(&w->shared, tid, of, b->offset);
    ssize_t len = pid ? proc_read_comm(pid, 0, comm) : -1;
    if (len < 0)
        return;
    text_add(&tame, "");
    text_add_tame(&tame, comm, (size_t)len);
    b->pid = pid;
    b->name = profile_string(w->profile, tame.s);
    text_release(&tame);
}

/* The lock lies in a file that processes share: who has it is none of the recorded ones.  The tid
 * as the lock has it is told to a dump, which is compared with others. */
static void set_shared(struct wait_owners *w, const struct wait_target *s,
                       const struct lock_wait *wait, const struct futex_lock *lock,
                       struct blocker *b)
{
    const struct mapping *of = maps_find(modules_maps(s->modules), lock->addr);
    if (!of || !of->inode)
        return;
    b->kind = BLOCKER_SHARED;
    b->tid = w->only_once ? lock->owner : 0;
    b->inode = of->inode;
    b->offset = lock->addr - of->start + of->file_offset;
    if (wait->sample.ns_tid == wait->sample.tid)
        add_shared_owner(w, lock->owner, of, b);
}

/* Where the word lies that is waited for; NULL: unknown. */
static const struct mapping *mapping_of(const struct wait_owners *w, const struct lock_wait *wait)
{
    const struct wait_target s = target_of(w, wait->sample.process);
    return s.modules ? maps_find(modules_maps(s.modules), wait->args[0]) : NULL;
}

/* WAIT is for what lies in a file that processes share, without a holder that could be read: B gets
 * where. */
static void set_place(struct wait_owners *w, const struct lock_wait *wait, struct blocker *b)
{
    const struct mapping *of = mapping_of(w, wait);
    struct text tame = {0};
    if (!of || !of->inode || !of->shared)
        return;
    text_add(&tame, "");
    text_add_tame(&tame, of->path, strlen(of->path));
    b->kind = BLOCKER_SHARED;
    b->inode = of->inode;
    b->offset = wait->args[0] - of->start + of->file_offset;
    b->name = profile_string(w->profile, tame.s);
    text_release(&tame);
}

/* Does the word lie in memory that no other process has?  libstdc++'s std::future asks for no
 * private futex (bits/atomic_futex.h), which tells nothing then.  Source: futex(2), mmap(2). */
static bool is_own_memory(const struct wait_owners *w, const struct lock_wait *wait)
{
    const struct mapping *of = mapping_of(w, wait);
    return of && !of->inode && !of->shared;
}

static void set_thread(const struct wait_target *s, pid_t tid, struct blocker *b)
{
    *b = (struct blocker){.kind = BLOCKER_THREAD, .pid = s->pid, .tid = tid};
}

static void find_holder(struct wait_owners *w, const struct lock_wait *wait,
                        const struct futex_lock *lock, struct blocker *b)
{
    uint32_t process = wait->sample.process;
    struct wait_target s = target_of(w, process);
    bool none = false;
    pid_t tid = thread_ids_find(&w->ids, process, lock->owner);
    if (!tid && lock->shared && find_elsewhere(w, process, &s, lock->addr, lock->owner, b))
        return;
    /* The kernel clears the tid of a thread that ends: this one lived when the lock was read. */
    if (!tid && lock->thing == THING_THREAD && wait->sample.ns_tid == wait->sample.tid)
        tid = lock->owner;
    if (!tid)
        tid = thread_ids_find_other(&w->ids, &wait->sample, s.pid, lock->owner, &none);
    if (tid)
        set_thread(&s, tid, b);
    else if (lock->shared)
        set_shared(w, &s, wait, lock, b);
    else if (none && lock->thing != THING_THREAD && still_says(w, wait, lock->owner))
        *b = (struct blocker){.kind = BLOCKER_GONE, .pid = s.pid, .tid = lock->owner};
}

static void trace_side(pid_t tid, const struct reading *reading, const struct wait_side *side)
{
    if (trace_want(TRACE_WAIT))
        trace(TRACE_WAIT, "%d at %lld to %lld: thing %d, holder %d, %d of %d", tid,
              (long long)reading->begun_ns, (long long)reading->done_ns, (int)side->thing,
              (int)side->blocker.kind, side->blocker.tid, side->blocker.pid);
}

static struct wait_side find_side(struct wait_owners *w, const struct lock_wait *wait,
                                  const struct futex_lock *lock, const struct reading *reading)
{
    bool exact = !(wait->sample.flags & SAMPLE_APPROXIMATE);
    struct wait_side side = {.timed = lock->timed,
                             .inside = exact && (!lock->shared || is_own_memory(w, wait))};
    if (exact && !lock->owner && lock->shared && w->profile)
        set_place(w, wait, &side.blocker);
    if (!exact || !lock->thing)
        return side;
    side.thing = lock->thing;
    side.addr = lock->addr;
    if (lock->owner)
        find_holder(w, wait, lock, &side.blocker);
    trace_side(wait->sample.tid, reading, &side);
    return side;
}

static struct lock_wait *remember(struct wait_owners *w, const struct sample_message *m,
                                  const struct wait_side *side, uint64_t addr)
{
    struct lock_wait wait = {.sample = m->head,
                             .addr = addr,
                             .side = *side,
                             .watched = m->head.flags & SAMPLE_LOCK_WATCHED,
                             .passed_ns = m->head.time_ns};
    memcpy(wait.args, m->snapshot.syscall_args, sizeof wait.args);
    w->waits = array_reserve(w->waits, &w->waits_capacity, w->n_waits + 1, sizeof *w->waits);
    map_put(&w->wait_of_thread, m->head.thread, w->n_waits);
    w->waits[w->n_waits] = wait;
    return &w->waits[w->n_waits++];
}

struct wait_side wait_owner_of_futex(struct wait_owners *w, const struct sample_message *m,
                                     struct mem *recorded)
{
    if (m->snapshot.syscall != SYS_futex)
        return (struct wait_side){0};
    struct lock_wait wait = {.sample = m->head};
    memcpy(wait.args, m->snapshot.syscall_args, sizeof wait.args);
    struct futex_lock lock = futex_lock_decode(wait.args, recorded);
    const struct reading reading = {m->snapshot.taken_ns, m->snapshot.read_ns};
    struct wait_side side = find_side(w, &wait, &lock, &reading);
    bool may_be_read_later = lock.passing && m->head.flags & SAMPLE_LOCK_WATCHED;
    if ((side.thing && lock.addr) || may_be_read_later)
        (void)remember(w, m, &side, lock.addr);
    return side;
}

/* ---- Python's locks ---- */

/* Has M's thread not run since it was sampled? */
static bool is_still(const struct wait_target *s, const struct message *sample)
{
    struct schedstat now;
    return proc_schedstat(s->pid, sample->tid, &now) == 0 && now.runs &&
           now.runs == sample->sched.runs;
}

/* Looks through the frames of all threads where the lock itself does not name its holder. */
static bool find_py_holder(struct wait_owners *w, const struct wait_target *s,
                           const struct py_lock *lock, uint64_t sem, uint64_t *ret)
{
    enum { MOST_FRAMES = 1000 };
    if (!w->scratch.frames) {
        w->scratch.capacity = MOST_FRAMES; /* of one thread; with more there is no holder */
        w->scratch.frames = xmalloc(MOST_FRAMES * sizeof *w->scratch.frames);
        w->blocks = mem_blocks_new();
    }
    mem_blocks_set(w->blocks, s->live);
    return py_lock_holder(s->python, w->blocks, lock, sem, &w->scratch, ret) == 0;
}

/* The thread THREAD, a pthread_t, for which SAMPLE's still waits, maybe itself; 0: unknown. */
static pid_t py_thread(struct wait_owners *w, const struct wait_target *s,
                       const struct message *sample, uint64_t thread)
{
    pid_t ns_tids[PY_TID_PLACES];
    size_t n = py_pthread_tids(s->live, thread, ns_tids);
    pid_t tid = 0;
    bool none;
    for (size_t i = 0; i < n && !tid; i++)
        tid = thread_ids_find(&w->ids, sample->process, ns_tids[i]);
    for (size_t i = 0; i < n && !tid; i++)
        tid = thread_ids_find_other(&w->ids, sample, s->pid, ns_tids[i], &none);
    return is_still(s, sample) ? tid : 0;
}

/* The thread that has LOCK, for which the thread of SAMPLE waits; 0: unknown.  Nobody waits for an
 * RLock of its own.  A message is some 30 ms old, so many a wait is over: that is asked before the
 * frames are searched, which takes twenty times as long. */
static pid_t py_holder(struct wait_owners *w, const struct wait_target *s,
                       const struct message *sample, const struct py_lock *lock, uint64_t sem)
{
    uint64_t thread;
    if (!is_still(s, sample) || !find_py_holder(w, s, lock, sem, &thread))
        return 0;
    pid_t tid = py_thread(w, s, sample, thread);
    return lock->reentrant && tid == sample->tid ? 0 : tid;
}

/* The thread that M's waits for in Thread.join(); 0: none, or unknown. */
static pid_t py_joined(struct wait_owners *w, const struct wait_target *s,
                       const struct sample_message *m, const struct py_frame *f)
{
    uint64_t thread;
    if (py_join_find(s->python, s->live, f, m->snapshot.syscall_args[0], &thread) < 0)
        return 0;
    pid_t tid = py_thread(w, s, &m->head, thread);
    return tid == m->head.tid ? 0 : tid;
}

struct wait_side wait_owner_of_py_lock(struct wait_owners *w, const struct wait_target *s,
                                       const struct sample_message *m,
                                       const struct wait_side *of_futex,
                                       const struct py_stack *python)
{
    const uint64_t *args = m->snapshot.syscall_args;
    struct wait_side side = *of_futex;
    struct py_lock lock;
    if (m->snapshot.syscall != SYS_futex || args[2] || m->head.flags & SAMPLE_APPROXIMATE ||
        !python->n)
        return side;
    int64_t now_ns = clock_now_ns();
    pid_t tid = py_joined(w, s, m, &python->frames[0]);
    if (tid) {
        side.thing = THING_THREAD;
        set_thread(s, tid, &side.blocker);
        return side;
    }
    if (py_lock_find(s->python, s->live, &python->frames[0], args[0], &lock) < 0)
        return side;
    if (lock.reentrant || w->only_once) /* else by seek_py_holders() */
        tid = py_holder(w, s, &m->head, &lock, args[0]);
    side.thing = THING_PY_LOCK;
    side.addr = lock.addr;
    if (tid)
        set_thread(s, tid, &side.blocker);
    struct lock_wait *wait = remember(w, m, &side, lock.addr);
    wait->py_lock = lock;
    wait->sought = !tid;
    wait->found_ns = tid ? now_ns : 0;
    if (trace_want(TRACE_WAIT) && (side.blocker.tid || is_still(s, &m->head))) /* not over by now */
        trace_side(m->head.tid, &(struct reading){now_ns, clock_now_ns()}, &side);
    return side;
}

/* ---- locks that change hands ---- */

static struct wait_side without_holder(const struct wait_side *side)
{
    return (struct wait_side){
        .thing = side->thing, .addr = side->addr, .timed = side->timed, .inside = side->inside};
}

/* A thread that waited for a lock stopped waiting: after SINCE_NS, and before UNTIL_NS. */
struct passing {
    int64_t since_ns, until_ns, at_ns; /* AT_NS: as far as is known */
};

static struct passing passing_of(const struct message *m)
{
    int64_t since_ns = m->until_ns && m->until_ns < m->time_ns ? m->until_ns : m->time_ns;
    return (struct passing){since_ns, m->time_ns, since_ns + (m->time_ns - since_ns) / 2};
}

/* WAIT's lock, of Python's, has changed hands.  Its holder may have been found behind that, when
 * the worker had not heard of it yet. */
static void pass_py_lock(struct lock_wait *wait, const struct passing *passing,
                         wait_owners_changed changed, void *ctx)
{
    int64_t at_ns = max_i64(passing->at_ns, wait->sample.time_ns);
    struct wait_side unknown = without_holder(&wait->side);
    bool found_before = wait->found_ns && wait->found_ns + BURST_NS <= passing->since_ns;
    bool found_behind = wait->found_ns > passing->until_ns;
    if (wait->found_ns)
        changed(ctx, wait->sample.thread, &unknown, found_before ? at_ns : wait->passed_ns);
    if (found_behind)
        changed(ctx, wait->sample.thread, &wait->side, at_ns);
    wait->passed_ns = at_ns;
    if (found_behind)
        return;
    wait->side = unknown;
    wait->found_ns = 0;
    wait->sought = true;
    wait->tries = 0;
}

static void doubt(struct wait_owners *w, const struct lock_wait *ended, const struct message *m,
                  wait_owners_changed changed, void *ctx)
{
    struct passing passing = passing_of(m);
    if (!ended->addr)
        return;
    for (size_t i = 0; i < w->n_waits; i++) {
        struct lock_wait *other = &w->waits[i];
        if (other->addr != ended->addr || other->sample.process != ended->sample.process ||
            other->watched)
            continue;
        if (other->py_lock.addr) {
            pass_py_lock(other, &passing, changed, ctx);
        } else if (!other->doubted) {
            other->doubted = w->any_doubted = true;
            other->doubted_ns = max_i64(passing.at_ns, other->sample.time_ns);
        }
    }
}

void wait_owners_end_wait(struct wait_owners *w, const struct message *m,
                          wait_owners_changed changed, void *ctx)
{
    uint64_t at;
    if (!map_get(&w->wait_of_thread, m->thread, &at))
        return;
    struct lock_wait ended = w->waits[at];
    map_remove(&w->wait_of_thread, m->thread);
    w->waits[at] = w->waits[--w->n_waits];
    if (at < w->n_waits)
        map_put(&w->wait_of_thread, w->waits[at].sample.thread, at);
    if (ended.doubted && ended.side.blocker.kind) {
        struct wait_side unknown = without_holder(&ended.side);
        changed(ctx, m->thread, &unknown, ended.doubted_ns);
    }
    bool waits_on = m->kind == MESSAGE_THREAD_END && m->flags & THREAD_STILL_ALIVE;
    if (!waits_on) /* where only the recording ends no lock has changed hands */
        doubt(w, &ended, m, changed, ctx);
}

void wait_owners_doubt_all(struct wait_owners *w)
{
    for (size_t i = 0; i < w->n_waits; i++) {
        struct lock_wait *wait = &w->waits[i];
        if (wait->doubted || wait->side.thing == THING_PY_LOCK) /* it cannot be read again */
            continue;
        wait->doubted = w->any_doubted = true;
        wait->doubted_ns = clock_now_ns();
    }
}

/* WAIT's lock as MEM has it, which was READ; NULL: it is read now.  The same word may be another
 * thing's by then. */
static struct wait_side read_again(struct wait_owners *w, const struct lock_wait *wait,
                                   struct mem *mem, const struct reading *read)
{
    struct reading now = {.begun_ns = clock_now_ns()};
    struct futex_lock lock = futex_lock_decode(wait->args, mem);
    now.done_ns = clock_now_ns();
    struct wait_side side = find_side(w, wait, &lock, read ? read : &now);
    if (!wait->addr || (side.thing == wait->side.thing && lock.addr == wait->addr))
        return side;
    return without_holder(&wait->side);
}

/* Is SIDE, which was read for WAIT, its thread itself?  It has the lock by now, and its wait is
 * over, unless that was so from the beginning. */
static bool has_got_it(const struct lock_wait *wait, const struct wait_side *side)
{
    const struct blocker *now = &side->blocker;
    const struct blocker *before = &wait->side.blocker;
    return now->kind == BLOCKER_THREAD && now->tid == wait->sample.tid &&
           !blockers_are_same(now, before);
}

/* Threads that call futex(2) alike wait for the same lock: one of a thousand is read. */
static struct wait_side read_once(struct wait_owners *w, const struct lock_wait *wait)
{
    uint64_t at;
    const uint64_t words[] = {wait->sample.process, wait->args[0],      wait->args[1],
                              wait->args[2],        wait->args[3] != 0, wait->addr};
    uint64_t key = hash_bytes(words, sizeof words);
    bool one = wait->side.thing != THING_THREAD && wait->sample.tid == wait->sample.ns_tid;
    if (one && map_get(&w->read, key, &at))
        return w->waits[at].side;
    struct wait_side side = read_again(w, wait, target_of(w, wait->sample.process).live, NULL);
    if (one && !has_got_it(wait, &side))
        map_put(&w->read, key, (uint64_t)(wait - w->waits));
    return side;
}

static void read_doubted(struct wait_owners *w, wait_owners_changed changed, void *ctx)
{
    w->any_doubted = false;
    map_clear(&w->read);
    for (size_t i = 0; i < w->n_waits; i++) {
        struct lock_wait *wait = &w->waits[i];
        if (!wait->doubted)
            continue;
        wait->doubted = false;
        struct wait_side side = read_once(w, wait);
        if (has_got_it(wait, &side))
            continue;
        bool same = blockers_are_same(&side.blocker, &wait->side.blocker);
        wait->side = side;
        wait->addr = wait->addr ? wait->addr : side.addr;
        if (!same)
            changed(ctx, wait->sample.thread, &side, wait->doubted_ns);
    }
}

/* ---- locks that the sampler reads ---- */

/* A memory that is the bytes of a message. */
struct lock_mem {
    struct mem mem;
    const struct lock_message *m;
};

static int read_bytes(struct mem *mem, uint64_t addr, void *buf, size_t len)
{
    const struct lock_message *m = ((struct lock_mem *)mem)->m;
    uint64_t at = addr - (m->word - m->before);
    if (at > m->n_bytes || len > m->n_bytes - at)
        return -EFAULT;
    memcpy(buf, m->bytes + at, len);
    return 0;
}

/* Do A and B, which wait on the same word, have the same holder? */
static bool are_alike(const struct lock_wait *a, const struct lock_wait *b)
{
    return a->args[1] == b->args[1] && a->args[2] == b->args[2] && !a->args[3] == !b->args[3] &&
           a->addr == b->addr && a->side.thing == b->side.thing &&
           a->sample.tid == a->sample.ns_tid && b->sample.tid == b->sample.ns_tid;
}

/* Nobody knows who had it in the middle of a long time between two readings. */
static void change_at(const struct lock_wait *wait, const struct lock_message *m,
                      wait_owners_changed changed, void *ctx)
{
    uint32_t thread_no = wait->sample.thread;
    int64_t since_ns = max_i64(m->since_ns, wait->sample.time_ns);
    int64_t gap_ns = max_i64(m->head.time_ns - since_ns, 0);
    struct wait_side unknown = without_holder(&wait->side);
    if (!m->n_bytes) {
        changed(ctx, thread_no, &unknown, max_i64(m->head.time_ns, since_ns) + m->head.look_ns);
        return;
    }
    if (gap_ns > 2 * m->head.look_ns)
        changed(ctx, thread_no, &unknown, since_ns + m->head.look_ns);
    changed(ctx, thread_no, &wait->side, m->head.time_ns - min_i64(gap_ns / 2, m->head.look_ns));
}

void wait_owners_see_lock(struct wait_owners *w, const struct lock_message *m,
                          wait_owners_changed changed, void *ctx)
{
    static const struct mem_ops ops = {.read = read_bytes};
    struct lock_mem bytes = {{&ops}, m};
    const struct reading reading = {m->head.time_ns, m->read_ns};
    const struct lock_wait *seen = NULL;
    for (size_t i = 0; i < w->n_waits; i++) {
        struct lock_wait *wait = &w->waits[i];
        if (!wait->watched || wait->args[0] != m->word || wait->sample.process != m->head.process ||
            wait->sample.time_ns > m->head.time_ns)
            continue;
        struct wait_side side = without_holder(&wait->side);
        if (seen && are_alike(seen, wait))
            side = seen->side;
        else if (m->n_bytes)
            side = read_again(w, wait, &bytes.mem, &reading);
        if (has_got_it(wait, &side))
            continue;
        bool same = blockers_are_same(&side.blocker, &wait->side.blocker);
        wait->side = side;
        wait->addr = wait->addr ? wait->addr : side.addr;
        seen = wait;
        if (!same)
            change_at(wait, m, changed, ctx);
    }
}

/* ---- Python's locks that change hands ---- */

/* Is WAIT for a Lock of Python's whose holder is still to be found? */
static bool is_sought(const struct lock_wait *wait)
{
    enum { MOST_TRIES = 5 };
    return wait->sought && wait->tries < MOST_TRIES;
}

static struct lock_wait *next_sought(struct wait_owners *w)
{
    for (size_t i = 0; i < w->n_waits; i++) {
        struct lock_wait *wait = &w->waits[w->sought++ % w->n_waits];
        if (is_sought(wait))
            return wait;
    }
    return NULL;
}

int64_t wait_owners_due_ns(const struct wait_owners *w)
{
    for (size_t i = 0; i < w->n_waits && !w->only_once; i++)
        if (is_sought(&w->waits[i]))
            return w->searching.due_ns;
    return INT64_MAX;
}

/* The last search of a burst: who else waits for the lock waits for the same holder. */
struct last_search {
    uint32_t process;
    uint64_t addr;
    pid_t tid;
    int64_t begun_ns;
};

static pid_t sought_holder(struct wait_owners *w, const struct lock_wait *wait,
                           struct last_search *last)
{
    uint32_t process = wait->sample.process;
    struct wait_target s = target_of(w, process);
    if (!s.python)
        return 0;
    if (last->addr == wait->addr && last->process == process && !wait->py_lock.reentrant)
        return is_still(&s, &wait->sample) ? last->tid : 0;
    int64_t begun_ns = clock_now_ns();
    pid_t tid = py_holder(w, &s, &wait->sample, &wait->py_lock, wait->args[0]);
    if (tid)
        *last = (struct last_search){process, wait->addr, tid, begun_ns};
    return tid;
}

/* As far as those tell who wait for the lock, its holder has had it since one of them got it. */
static void seek_py_holder(struct wait_owners *w, struct lock_wait *wait, struct last_search *last,
                           wait_owners_changed changed, void *ctx)
{
    int64_t now_ns = clock_now_ns();
    wait->tries++;
    pid_t tid = sought_holder(w, wait, last);
    if (!tid)
        return;
    struct wait_target s = target_of(w, wait->sample.process);
    set_thread(&s, tid, &wait->side.blocker);
    wait->sought = false;
    wait->found_ns = last->begun_ns;
    trace_side(wait->sample.tid, &(struct reading){now_ns, clock_now_ns()}, &wait->side);
    changed(ctx, wait->sample.thread, &wait->side, wait->passed_ns);
}

/* The messages of one batch may be of many waits, most of them over by its end: so the search comes
 * after the batch, for those that wait on. */
static void seek_py_holders(struct wait_owners *w, wait_owners_changed changed, void *ctx)
{
    struct lock_wait *wait = clock_now_ns() >= w->searching.due_ns ? next_sought(w) : NULL;
    if (!wait || !duty_cycle_begin(&w->searching))
        return;
    int64_t end_ns = clock_now_ns() + BURST_NS;
    struct last_search last = {0};
    for (size_t n = w->n_waits; wait && n && clock_now_ns() < end_ns; n--) {
        seek_py_holder(w, wait, &last, changed, ctx);
        wait = next_sought(w);
    }
    duty_cycle_end(&w->searching, SEARCH_SHARE, 0);
}

void wait_owners_look_again(struct wait_owners *w, wait_owners_changed changed, void *ctx)
{
    if (w->any_doubted)
        read_doubted(w, changed, ctx);
    if (w->n_waits && !w->only_once)
        seek_py_holders(w, changed, ctx);
}

struct wait_side wait_owner_of_gil(const struct wait_owners *w, uint32_t process, uint64_t holder)
{
    struct wait_side side = {.thing = THING_GIL};
    thread_id thread;
    if (!gil_watch_thread(&w->gil, process, holder, &thread))
        return side;
    const struct profile_thread *t = profile_see_thread(w->profile, thread);
    if (t->ended || t->n_folded)
        return side;
    struct wait_target s = target_of(w, process);
    set_thread(&s, t->tid, &side.blocker);
    return side;
}

void wait_owners_release(struct wait_owners *w)
{
    gil_watch_release(&w->gil);
    thread_ids_release(&w->ids);
    shared_owners_release(&w->shared);
    map_release(&w->wait_of_thread);
    map_release(&w->read);
    free(w->waits);
    free(w->scratch.frames);
    mem_free(w->blocks);
}
