#include "target/freezer.h"

#include "base/text.h"
#include "tests/support/check_main.h"

START_TEST(the_kernels_function_tells_what_it_is)
{
    ck_assert_int_eq(freezer_judge("do_freezer_trap"), OUTSIDE_FROZEN);
    ck_assert_int_eq(freezer_judge("__refrigerator"), OUTSIDE_FROZEN);
    ck_assert_int_eq(freezer_judge("folio_wait_bit_common"), OUTSIDE_PAGE);
    ck_assert_int_eq(freezer_judge("handle_userfault"), OUTSIDE_PAGE);
    ck_assert_int_eq(freezer_judge("rwsem_down_read_slowpath"), OUTSIDE_PAGE);
    ck_assert_int_eq(freezer_judge("request_wait_answer"), OUTSIDE_PAGE); /* FUSE */
    ck_assert_int_eq(freezer_judge("do_exit"), OUTSIDE_UNKNOWN);
    ck_assert_int_eq(freezer_judge(""), OUTSIDE_UNKNOWN);
}
END_TEST

START_TEST(the_kernels_stack_tells_a_fault)
{
    ck_assert(freezer_is_in_fault("[<0>] orangefs_wait+0x7/0x10\n[<0>] handle_mm_fault+0x1/0x2\n"
                                  "[<0>] exc_page_fault+0x70/0x180\n"));
    ck_assert(freezer_is_in_fault("[<0>] exc_page_fault+0x70/0x180\n"));
    ck_assert(!freezer_is_in_fault("[<0>] fuse_flush+0x7/0x10\n[<0>] task_work_run+0x5c/0x90\n"));
    ck_assert(!freezer_is_in_fault(""));
}
END_TEST

START_TEST(a_group_is_found)
{
    static const char text[] = "7:cpu,cpuacct:/b\n6:freezer:/hold\n1:name=systemd:/x\n0::/a/b\n";
    static const char broken[] = "6freezer\n:\n0:";
    char path[16];
    ck_assert(freezer_find_group(text, "", path, sizeof path));
    ck_assert_str_eq(path, "/a/b");
    ck_assert(freezer_find_group(text, "freezer", path, sizeof path));
    ck_assert_str_eq(path, "/hold");
    ck_assert(freezer_find_group(text, "cpuacct", path, sizeof path));
    ck_assert_str_eq(path, "/b");
    ck_assert(!freezer_find_group(text, "freeze", path, sizeof path));
    ck_assert(!freezer_find_group(text, "freezer", path, 4)); /* does not fit */
    ck_assert(!freezer_find_group(broken, "freezer", path, sizeof path));
    ck_assert(!freezer_find_group("", "", path, sizeof path));
}
END_TEST

CHECK_MAIN("freezer", 20, the_kernels_function_tells_what_it_is, the_kernels_stack_tells_a_fault,
           a_group_is_found)
