#include "summary/interrupted.h"

#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static bool waits(const char *stack)
{
    struct shown_stack s = builder_shown(stack);
    bool ret = interrupted_words(s.frames, s.n) != NULL;
    builder_shown_release(&s);
    return ret;
}

#define MAIN    "main!app > log_line!app > "
#define HANDLER "__restore_rt!libc.so.6 > on_hangup!app > "
#define WAIT    "__lll_lock_wait_private!libc.so.6 > futex [blocked]"

START_TEST(a_handler_that_waits_for_what_it_interrupted_is_known)
{
    ck_assert(waits(MAIN "__tz_convert!libc.so.6 > fstatat!libc.so.6 > " HANDLER
                         "__tz_convert!libc.so.6 > " WAIT));
    ck_assert(
        waits(MAIN "free!libc.so.6 > _int_free!libc.so.6 > " HANDLER "malloc!libc.so.6 > " WAIT));
}
END_TEST

START_TEST(other_waits_are_none)
{
    static const char *const stacks[] = {
        MAIN "__tz_convert!libc.so.6 > " WAIT,                               /* in no handler */
        MAIN "__tz_convert!libc.so.6 > " HANDLER "printf!libc.so.6 > " WAIT, /* another lock */
        MAIN "parse!app > " HANDLER "__tz_convert!libc.so.6 > " WAIT,        /* that another has */
        MAIN "__tz_convert!libc.so.6 > " HANDLER "__tz_convert!libc.so.6",   /* it runs */
        /* It was interrupted in its own wait for what another has. */
        MAIN "malloc!libc.so.6 > __lll_lock_wait_private!libc.so.6 > " HANDLER
             "malloc!libc.so.6 > " WAIT,
        "__restore_rt!libc.so.6 > futex [blocked]",
        "futex [blocked]",
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        ck_assert_msg(!waits(stacks[i]), "%s", stacks[i]);
}
END_TEST

#define PUT     "put@/usr/lib/python3.12/queue.py:122:133 > "
#define DELETED "Parcel.__del__@/src/courier.py:20:21 > "
#define LOCK    "sem_wait!libc.so.6 > futex [blocked]"

START_TEST(a_finalizer_that_waits_for_a_lock_is_known)
{
    static const char *const stacks[] = {
        "pack@/src/courier.py:23:25 > " PUT DELETED PUT LOCK,
        "pack@/src/courier.py:23:25 > [gc] > " DELETED PUT LOCK,
        "pack@/src/courier.py:23:25 > [gc] > forget@/src/courier.py:30:31 > " LOCK, /* weakref's */
    };
    static const char *const others[] = {
        "pack@/src/courier.py:23:25 > " PUT LOCK,                   /* in none */
        "pack@/src/courier.py:23:25 > [gc] > " LOCK,                /* native code's */
        "Py_FinalizeEx!python3 > [gc] > " DELETED PUT LOCK,         /* nothing is interrupted */
        "pack@/src/courier.py:23:25 > " DELETED "read [blocked]",   /* for no lock */
        "pack@/src/courier.py:23:25 > " DELETED PUT "work!python3", /* it runs */
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        ck_assert_msg(waits(stacks[i]), "%s", stacks[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!waits(others[i]), "%s", others[i]);
}
END_TEST

CHECK_MAIN("interrupted", 20, a_handler_that_waits_for_what_it_interrupted_is_known,
           other_waits_are_none, a_finalizer_that_waits_for_a_lock_is_known)
