#include "summary/handler_lock.h"

#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static bool waits(const char *stack)
{
    struct shown_stack s = builder_shown(stack);
    bool ret = handler_waits_for_interrupted(s.frames, s.n);
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

CHECK_MAIN("handler_lock", 20, a_handler_that_waits_for_what_it_interrupted_is_known,
           other_waits_are_none)
