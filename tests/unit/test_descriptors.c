#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/check_main.h"

enum { LIMIT = 400, KEPT_BACK = 64, MOST = 512 };

/* How many files can be opened for USE; they stay open. */
static int open_all(enum descriptor_use use)
{
    int n = 0;
    while (n < MOST && descriptor_keep(open("/dev/null", O_RDONLY | O_CLOEXEC), use) >= 0)
        n++;
    return n;
}

START_TEST(each_use_leaves_room_for_the_next_and_the_last_for_the_end)
{
    ck_assert_int_eq(descriptor_keep(-ESRCH, DESCRIPTOR_NOW), -ESRCH);
    descriptors_set_limit(LIMIT);
    ck_assert(!descriptors_are_short(STDERR_FILENO));
    ck_assert_int_gt(open_all(DESCRIPTOR_SPARE), LIMIT / 4);
    ck_assert_int_gt(open_all(DESCRIPTOR_THREAD), 0);
    ck_assert_int_eq(open_all(DESCRIPTOR_SPARE), 0);
    ck_assert(!descriptors_are_short(STDERR_FILENO));
    ck_assert_int_gt(open_all(DESCRIPTOR_PROCESS), 0);
    ck_assert(descriptors_are_short(STDERR_FILENO));
    ck_assert_int_gt(open_all(DESCRIPTOR_NOW), 0);
    int next = dup(STDERR_FILENO);
    ck_assert_int_eq(next, LIMIT - KEPT_BACK);
    ck_assert_int_eq(descriptor_keep(next, DESCRIPTOR_NOW), -EMFILE);
    ck_assert_int_lt(fcntl(next, F_GETFD), 0);
}
END_TEST

START_TEST(small_limits_leave_room_too)
{
    for (unsigned long limit = 32; limit <= 64; limit += 32) {
        descriptors_set_limit(limit);
        ck_assert_int_eq(descriptor_keep(dup(STDERR_FILENO), DESCRIPTOR_SPARE) >= 0, true);
    }
    descriptors_set_limit(~0UL);
    ck_assert_int_ge(descriptor_keep(dup(STDERR_FILENO), DESCRIPTOR_SPARE), 0);
}
END_TEST

CHECK_MAIN("descriptors", 10, each_use_leaves_room_for_the_next_and_the_last_for_the_end,
           small_limits_leave_room_too)
