/* Which locks are watched, and who waits for which: no thread is needed for that. */
#include "sampler/lock_watch.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "sampler/process.h"
#include "sampler/state.h"
#include "tests/support/check_main.h"

enum { WORD = 0x10000, THREADS = WATCHED_LOCKS + 2 };

static struct sampler *s;
static struct process process;
static struct thread threads[THREADS];

static void setup(void)
{
    s = xcalloc(1, sizeof *s);
    s->can.schedstat = true;
    process = (struct process){0};
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = (struct thread){.process = &process, .tid = (pid_t)i + 1};
}

static void teardown(void)
{
    free(process.lock_watch);
    free(s);
}

/* Thread I waits for lock LOCK.  Is that watched? */
static bool wait_for(size_t i, size_t lock)
{
    struct sample_message m = {
        .snapshot = {.syscall = SYS_futex,
                     .state = THREAD_BLOCKED,
                     .syscall_args = {WORD + lock * 64, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2}}};
    lock_watch_sampled(s, &threads[i], &m, true);
    return m.head.flags & SAMPLE_LOCK_WATCHED;
}

static bool wants(int op, uint32_t value)
{
    const uint64_t args[6] = {WORD, (uint64_t)op, value};
    return lock_watch_wants(args);
}

START_TEST(locks_with_a_holder_are_wanted)
{
    const int private = FUTEX_PRIVATE_FLAG;
    ck_assert(wants(FUTEX_WAIT | private, 2));        /* a mutex */
    ck_assert(wants(FUTEX_WAIT_BITSET | private, 2)); /* with a time-out; an rwlock's readers */
    ck_assert(wants(FUTEX_WAIT_BITSET | private, 3)); /* an rwlock */
    ck_assert(wants(FUTEX_WAIT, FUTEX_WAITERS | 77)); /* a robust mutex */
    ck_assert(wants(FUTEX_LOCK_PI | private, 0));
    ck_assert(!wants(FUTEX_WAIT_BITSET | private, 0)); /* a condition, a semaphore */
    ck_assert(!wants(FUTEX_WAIT, 77));                 /* the end of a thread */
    ck_assert(!wants(FUTEX_WAIT | private, 0xc0000000));
    ck_assert(!wants(FUTEX_WAKE | private, 2));
}
END_TEST

START_TEST(each_waiter_is_in_the_list_of_its_lock)
{
    for (size_t i = 0; i < 4; i++)
        ck_assert(wait_for(i, i == 3));
    ck_assert_uint_eq(process.lock_watch->n, 2);
    const struct watched_lock *lock = &process.lock_watch->locks[0];
    ck_assert_ptr_eq(lock->newest, &threads[2]);
    lock_watch_leave(&threads[1]); /* in the middle */
    lock_watch_leave(&threads[1]); /* it has left */
    ck_assert_ptr_eq(threads[2].older_waiter, &threads[0]);
    ck_assert(wait_for(2, 1)); /* it waits for another one now */
    ck_assert_ptr_eq(lock->newest, &threads[0]);
    lock_watch_leave(&threads[0]);
    ck_assert_ptr_null(lock->newest);
    ck_assert_uint_eq(process.lock_watch->n, 2);
    lock_watch_leave(&threads[2]);
    lock_watch_leave(&threads[3]);
    ck_assert_uint_eq(process.lock_watch->n, 0);
}
END_TEST

START_TEST(a_lock_too_many_is_counted)
{
    for (size_t i = 0; i < WATCHED_LOCKS; i++)
        ck_assert(wait_for(i, i));
    ck_assert(wait_for(WATCHED_LOCKS, 5)); /* a second one that waits for it */
    ck_assert(!wait_for(WATCHED_LOCKS + 1, WATCHED_LOCKS));
    ck_assert_uint_eq(counters_get(&s->counters, COUNT_LOCKS_UNWATCHED), 1);
    lock_watch_leave(&threads[7]);
    ck_assert(wait_for(WATCHED_LOCKS + 1, WATCHED_LOCKS));
    ck_assert_uint_eq(process.lock_watch->n, WATCHED_LOCKS);
}
END_TEST

START_TEST(who_does_not_wait_is_in_no_list)
{
    struct sample_message m = {.snapshot = {.syscall = SYS_futex, .state = THREAD_RUNNING}};
    ck_assert(wait_for(0, 0));
    lock_watch_sampled(s, &threads[0], &m, true);
    ck_assert_ptr_null(threads[0].lock);
    threads[0].ended = true;
    ck_assert(!wait_for(0, 0));
}
END_TEST

CHECK_MAIN_WITH("lock_watch", 20, setup, teardown, locks_with_a_holder_are_wanted,
                each_waiter_is_in_the_list_of_its_lock, a_lock_too_many_is_counted,
                who_does_not_wait_is_in_no_list)
