/* This program itself is the Python: it has the locks, and the semaphores of those who wait. */
#include "pyframes/py_lock.h"

#include <errno.h>
#include <string.h>

#include "pyframes/py_layout.h"
#include "tests/support/check_main.h"
#include "tests/support/own_mem.h"

enum { OBJECT_WORDS = 8, TYPE_AT = 1, NAME_AT = 3, WORD = 2, OWNER, COUNT };
enum { LOCAL_VALUES = 2, STACK_VALUES = 3, LOCK_SLOT = 1 };
enum { UNLOCKED, LOCKED, WAITERS, LOCKED_WITH_WAITERS };
enum { THREAD = 0x7f00, NOBODY = 0 };

static uint64_t type[OBJECT_WORDS], object[OBJECT_WORDS], code[64], frame[64];
/* struct wait_entry of a thread that is parked, and a semaphore that a lock is made of. */
static struct {
    uint64_t park_arg, addr, sem[4];
} entry, alone;
static struct own_mem own;
static struct py_runtime rt;
static struct py_lock lock;

static uint64_t address(const void *of)
{
    return (uintptr_t)of;
}

static void put_u32(uint64_t addr, uint32_t value)
{
    memcpy((void *)(uintptr_t)addr, &value, sizeof value); /* NOLINT(performance-no-int-to-ptr) */
}

/* A lock of the type NAME, and the frame of a thread that waits for it.  WITH: the version whose
 * `with` it is. */
static void begin(const char *name, uint32_t with)
{
    own = own_mem();
    rt = (struct py_runtime){.layout = *py_layout_of(12)};
    rt.layout.traits = *py_traits_of(with);
    memset(object, 0, sizeof object);
    memset(frame, 0, sizeof frame);
    memset(&entry, 0, sizeof entry);
    memset(&alone, 0, sizeof alone);
    object[TYPE_AT] = address(type);
    type[NAME_AT] = address(name);
    put_u32(address(code) + rt.layout.code.first_line + 4, LOCAL_VALUES);
    put_u32(address(code) + rt.layout.code.first_line - 4, STACK_VALUES);
    frame[rt.layout.frame.locals / 8 + LOCAL_VALUES + LOCK_SLOT] = address(object);
}

static int find(const uint64_t *sem)
{
    struct py_frame f = {.self = address(frame), .code = address(code)};
    lock = (struct py_lock){0};
    return py_lock_find(&rt, &own.mem, &f, address(sem), &lock);
}

static void check_found(const uint64_t *sem, bool reentrant)
{
    ck_assert_int_eq(find(sem), 0);
    ck_assert_uint_eq(lock.addr, address(object));
    ck_assert(lock.reentrant == reentrant);
}

/* A PyMutex with THREAD in it for which another thread is parked. */
static void park(uint64_t word)
{
    object[WORD] = word;
    entry.addr = address(&object[WORD]);
}

static void check_holder(const uint64_t *sem, uint64_t expected)
{
    struct py_stack scratch = {0};
    uint64_t holder = NOBODY;
    int r = py_lock_holder(&rt, &own.mem, &lock, address(sem), &scratch, &holder);
    ck_assert_int_eq(r, expected ? 0 : -ENOENT);
    ck_assert(!expected || holder == expected);
}

/* Whatever the version: a point release of 3.13 made its Lock a PyMutex, and left its RLock. */
START_TEST(what_a_lock_is_made_of_it_shows_itself)
{
    for (uint32_t with = 11; with <= 15; with++) {
        begin("_thread.lock", with);
        object[WORD] = address(alone.sem);
        check_found(alone.sem, false);
        ck_assert_int_eq(find(entry.sem), -ENOENT);
        begin("_thread.lock", with);
        park(LOCKED_WITH_WAITERS);
        check_found(entry.sem, false);
        ck_assert_int_eq(find(alone.sem), -ENOENT);
        begin("_thread.RLock", with);
        park(LOCKED_WITH_WAITERS);
        check_found(entry.sem, true);
    }
}
END_TEST

/* Parked in a function of C's, whose frame has the lock nowhere. */
START_TEST(the_waiter_itself_says_what_it_is_parked_for)
{
    begin("_thread.lock", 14);
    park(LOCKED_WITH_WAITERS);
    memset(frame, 0, sizeof frame);
    check_found(entry.sem, false);
}
END_TEST

START_TEST(not_parked_for_a_lock)
{
    for (uint64_t word = UNLOCKED; word < LOCKED_WITH_WAITERS; word++) {
        begin("_thread.lock", 14);
        park(word);
        ck_assert_int_eq(find(entry.sem), -ENOENT);
    }
    begin("dict", 14);
    park(LOCKED_WITH_WAITERS);
    ck_assert_int_eq(find(entry.sem), -ENOENT);
    begin("_thread.lock", 14);
    park(LOCKED_WITH_WAITERS);
    entry.addr += 4;
    ck_assert_int_eq(find(entry.sem), -ENOENT);
    entry.addr = 0;
    ck_assert_int_eq(find(entry.sem), -ENOENT);
    ck_assert_int_eq(find((const uint64_t *)(uintptr_t)4), -ENOENT);
    begin("_thread.lock", 14);
    park(LOCKED_WITH_WAITERS);
    rt.layout.free_threaded = true;
    ck_assert_int_eq(find(entry.sem), -ENOENT);
}
END_TEST

/* Beside a semaphore an RLock counts how often it was taken, beside a PyMutex how often again. */
START_TEST(an_rlock_names_its_holder)
{
    begin("_thread.RLock", 13);
    object[WORD] = address(alone.sem);
    object[OWNER] = THREAD;
    check_found(alone.sem, true);
    check_holder(alone.sem, NOBODY);
    object[COUNT] = 1;
    check_holder(alone.sem, THREAD);
    object[OWNER] = NOBODY;
    check_holder(alone.sem, NOBODY);
    begin("_thread.RLock", 13);
    park(LOCKED_WITH_WAITERS);
    object[OWNER] = THREAD;
    check_found(entry.sem, true);
    check_holder(entry.sem, THREAD);
    object[WORD] = LOCKED;
    check_holder(entry.sem, NOBODY); /* nobody waits by now */
    object[WORD] = LOCKED_WITH_WAITERS;
    entry.addr = address(type);
    check_holder(entry.sem, NOBODY); /* it waits for another one */
}
END_TEST

CHECK_MAIN("py_lock", 10, what_a_lock_is_made_of_it_shows_itself,
           the_waiter_itself_says_what_it_is_parked_for, not_parked_for_a_lock,
           an_rlock_names_its_holder)
