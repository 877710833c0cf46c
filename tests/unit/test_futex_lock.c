#include "waits/futex_lock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

enum {
    PRIVATE = FUTEX_PRIVATE_FLAG,
    LOCK_PI2 = 13,
    RWLOCK_PHASE = 8, /* where the words of pthread_rwlock_t are that threads wait on */
    RWLOCK_WRITERS = 12,
    OTHER = 4711, /* a thread that has a lock */
};

/* A lock of this very C library's, as a program has it in its memory. */
static union {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    mtx_t mtx;
    uint32_t words[32];
} lock;

static struct futex_lock decode_at(size_t offset, int op, uint32_t val, bool timed)
{
    uint64_t base = (uint64_t)(uintptr_t)&lock;
    struct bytes_mem memory = bytes_mem_of(base, (const uint8_t *)&lock, sizeof lock);
    const uint64_t args[6] = {base + offset, (uint64_t)op, val, timed ? base : 0};
    return futex_lock_decode(args, &memory.mem);
}

static void assert_owned(struct futex_lock found, enum wait_thing thing, pid_t owner)
{
    ck_assert_int_eq(found.thing, thing);
    ck_assert_int_eq(found.owner, owner);
    ck_assert_uint_eq(found.addr, (uint64_t)(uintptr_t)&lock);
}

static void make_mutex(int type, int protocol, int robust, int shared)
{
    pthread_mutexattr_t attributes;
    memset(&lock, 0, sizeof lock);
    ck_assert_int_eq(pthread_mutexattr_init(&attributes), 0);
    ck_assert_int_eq(pthread_mutexattr_settype(&attributes, type), 0);
    ck_assert_int_eq(pthread_mutexattr_setprotocol(&attributes, protocol), 0);
    ck_assert_int_eq(pthread_mutexattr_setrobust(&attributes, robust), 0);
    ck_assert_int_eq(pthread_mutexattr_setpshared(&attributes, shared), 0);
    ck_assert_int_eq(pthread_mutex_init(&lock.mutex, &attributes), 0);
    ck_assert_int_eq(pthread_mutex_lock(&lock.mutex), 0);
}

static const int types[] = {PTHREAD_MUTEX_TIMED_NP, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                            PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
enum { TYPES = sizeof types / sizeof *types };

START_TEST(a_mutex_of_each_type_tells_its_owner)
{
    for (int i = 0; i < TYPES; i++) {
        for (int shared = 0; shared < 2; shared++) {
            int flag = shared ? 0 : PRIVATE;
            make_mutex(types[i], PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, shared);
            assert_owned(decode_at(0, FUTEX_WAIT | flag, 2, false), THING_MUTEX, gettid());
            ck_assert_int_eq(decode_at(0, FUTEX_WAIT | flag, 2, false).shared, shared);
            struct futex_lock timed =
                decode_at(0, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | flag, 2, true);
            assert_owned(timed, THING_MUTEX, gettid());
            ck_assert(timed.timed);
            ck_assert_int_eq(pthread_mutex_unlock(&lock.mutex), 0);
            ck_assert_int_eq(decode_at(0, FUTEX_WAIT | flag, 2, false).owner, 0);
        }
    }
}
END_TEST

START_TEST(robust_and_priority_inheriting_ones_have_it_in_their_word)
{
    for (int i = 0; i < TYPES; i++) {
        uint32_t own = (uint32_t)gettid();
        make_mutex(types[i], PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 0);
        assert_owned(decode_at(0, FUTEX_WAIT, FUTEX_WAITERS | own, false), THING_MUTEX, gettid());
        /* Somebody else had it when the thread began to wait. */
        assert_owned(decode_at(0, FUTEX_WAIT, FUTEX_WAITERS | OTHER, false), THING_MUTEX, gettid());
        for (int robust = 0; robust < 2; robust++) {
            make_mutex(types[i], PTHREAD_PRIO_INHERIT, robust, 0);
            assert_owned(decode_at(0, FUTEX_LOCK_PI | PRIVATE, 0, false), THING_MUTEX, gettid());
            assert_owned(decode_at(0, LOCK_PI2 | PRIVATE, 0, true), THING_MUTEX, gettid());
            lock.words[0] |= FUTEX_WAITERS;
            assert_owned(decode_at(0, FUTEX_LOCK_PI, 0, false), THING_MUTEX, gettid());
        }
    }
}
END_TEST

START_TEST(locks_of_c11_are_mutexes)
{
    memset(&lock, 0, sizeof lock);
    ck_assert_int_eq(mtx_init(&lock.mtx, mtx_timed | mtx_recursive), thrd_success);
    ck_assert_int_eq(mtx_lock(&lock.mtx), thrd_success);
    assert_owned(decode_at(0, FUTEX_WAIT | PRIVATE, 2, false), THING_MUTEX, gettid());
}
END_TEST

START_TEST(a_mutex_that_says_nothing_has_no_owner)
{
    make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0);
    ck_assert_int_eq(decode_at(0, FUTEX_WAIT | PRIVATE, 1, false).owner, 0); /* not its value */
    ck_assert_int_eq(decode_at(0, FUTEX_WAKE | PRIVATE, 2, false).owner, 0); /* it does not wait */
    lock.words[4] |= 0x100; /* elided: nobody writes the owner */
    ck_assert_int_eq(decode_at(0, FUTEX_WAIT | PRIVATE, 2, false).owner, 0);
    lock.words[4] = 0;
    lock.words[0] = 0; /* given up just now */
    ck_assert_int_eq(decode_at(0, FUTEX_WAIT | PRIVATE, 2, false).owner, 0);
    lock.words[0] = 2;
    lock.words[2] = 0x40000000; /* no tid */
    ck_assert_int_eq(decode_at(0, FUTEX_WAIT | PRIVATE, 2, false).owner, 0);
    lock.words[4] = 0x40; /* its word holds a priority, too */
    lock.words[2] = OTHER;
    ck_assert_int_eq(decode_at(0, FUTEX_WAIT | PRIVATE, 2, false).owner, 0);
    /* The end of it was not recorded. */
    uint64_t base = (uint64_t)(uintptr_t)&lock;
    const uint64_t args[6] = {base, FUTEX_WAIT | PRIVATE, 2};
    struct bytes_mem cut = bytes_mem_of(base, (const uint8_t *)&lock, 16);
    ck_assert_int_eq(futex_lock_decode(args, &cut.mem).owner, 0);
}
END_TEST

START_TEST(an_rwlock_tells_its_writer)
{
    static const struct {
        size_t offset;
        uint32_t val;
    } waits[] = {{RWLOCK_PHASE, 3}, {RWLOCK_WRITERS, 3}}; /* a reader, a writer */
    int op = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | PRIVATE;
    memset(&lock, 0, sizeof lock);
    ck_assert_int_eq(pthread_rwlock_init(&lock.rwlock, NULL), 0);
    ck_assert_int_eq(pthread_rwlock_wrlock(&lock.rwlock), 0);
    for (size_t i = 0; i < 2; i++)
        assert_owned(decode_at(waits[i].offset, op, waits[i].val, false), THING_RWLOCK, gettid());
    ck_assert_int_eq(pthread_rwlock_unlock(&lock.rwlock), 0);
    ck_assert_int_eq(pthread_rwlock_rdlock(&lock.rwlock), 0);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(decode_at(waits[i].offset, op, waits[i].val, false).owner, 0);
    ck_assert_int_eq(decode_at(RWLOCK_PHASE, op, 2, false).owner, 0); /* a writer, for readers */
}
END_TEST

/* Where the other of the two words would be that word, thread 1 would have it. */
START_TEST(an_rwlock_between_processes_is_not_held_by_its_flag)
{
    memset(&lock, 0, sizeof lock);
    lock.words[0] = 3;     /* a writer has it */
    lock.words[6] = OTHER; /* this one */
    lock.words[7] = 1;     /* between processes */
    int op = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
    assert_owned(decode_at(RWLOCK_WRITERS, op, 3, false), THING_RWLOCK, OTHER);
    assert_owned(decode_at(RWLOCK_PHASE, op, 3, false), THING_RWLOCK, OTHER);
    lock.words[1] = 3; /* so many writers, which looks like the word of a lock that one has */
    assert_owned(decode_at(RWLOCK_WRITERS, op, 3, false), THING_RWLOCK, OTHER);
    lock.words[6] = 0; /* it is just being given up */
    ck_assert_int_eq(decode_at(RWLOCK_WRITERS, op, 3, false).owner, 0);
}
END_TEST

START_TEST(who_joins_waits_for_a_thread)
{
    memset(&lock, 0, sizeof lock);
    lock.words[20] = OTHER;
    int op = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
    struct futex_lock join = decode_at(80, op, OTHER, false);
    ck_assert_int_eq(join.thing, THING_THREAD);
    ck_assert_int_eq(join.owner, OTHER);
    ck_assert(!join.shared && !join.timed && !join.addr);
    ck_assert(decode_at(80, op, OTHER, true).timed);
    ck_assert_int_eq(decode_at(80, op, OTHER + 1, false).owner, 0);       /* it has ended */
    ck_assert_int_eq(decode_at(80, op | PRIVATE, OTHER, false).owner, 0); /* a condition */
    lock.words[20] = 3; /* in a small pid namespace */
    ck_assert_int_eq(decode_at(80, op, 3, false).owner, 0);
    uint64_t list = (uint64_t)(uintptr_t)&lock.words[24];
    memcpy(&lock.words[24], &list, sizeof list);
    ck_assert_int_eq(decode_at(80, op, 3, false).owner, 3);
}
END_TEST

START_TEST(conditions_and_semaphores_have_no_owner)
{
    for (uint32_t val = 0; val < 8; val++) {
        memset(&lock, 0, sizeof lock);
        lock.words[10] = val;
        ck_assert_int_eq(decode_at(40, FUTEX_WAIT_BITSET | PRIVATE, val, false).owner, 0);
        ck_assert(decode_at(40, FUTEX_WAIT_BITSET | PRIVATE, val, true).timed);
    }
    const uint64_t nowhere[6] = {8, FUTEX_WAIT | PRIVATE, 2};
    struct bytes_mem memory = bytes_mem_of(4096, (const uint8_t *)&lock, sizeof lock);
    ck_assert_int_eq(futex_lock_decode(nowhere, &memory.mem).owner, 0);
}
END_TEST

CHECK_MAIN("futex_lock", 20, a_mutex_of_each_type_tells_its_owner,
           robust_and_priority_inheriting_ones_have_it_in_their_word, locks_of_c11_are_mutexes,
           a_mutex_that_says_nothing_has_no_owner, an_rwlock_tells_its_writer,
           an_rwlock_between_processes_is_not_held_by_its_flag, who_joins_waits_for_a_thread,
           conditions_and_semaphores_have_no_owner)
