#include "arch/stop.h"

#include <errno.h>

#include "tests/support/check_main.h"

START_TEST(a_stop_says_which_call_it_interrupted)
{
    const struct user_regs_struct user = {.orig_rax = 7,
                                          .rax = (unsigned long long)-EINTR,
                                          .rdi = 1,
                                          .rsi = 2,
                                          .rdx = 3,
                                          .r10 = 4,
                                          .r8 = 5,
                                          .r9 = 6,
                                          .rsp = 0x1000,
                                          .rip = 0x2000,
                                          .fs_base = 0x3000};
    struct stopped at;
    stop_describe(&user, &at);
    ck_assert_int_eq(at.call, 7);
    ck_assert_int_eq(at.result, -EINTR);
    for (uint64_t i = 0; i < 6; i++)
        ck_assert_uint_eq(at.args[i], i + 1);
    ck_assert_uint_eq(at.regs.r[X86_RSP], 0x1000);
    ck_assert_uint_eq(at.regs.r[X86_PC], 0x2000);
    ck_assert_uint_eq(at.regs.known, (1U << X86_COUNT) - 1);
    ck_assert_uint_eq(at.thread_pointer, 0x3000);
}
END_TEST

/* Every register has its DWARF number (psABI, figure 3.36). */
START_TEST(registers_have_their_dwarf_numbers)
{
    const struct user_regs_struct user = {.orig_rax = ~0ULL,
                                          .rax = 0,
                                          .rdx = 1,
                                          .rcx = 2,
                                          .rbx = 3,
                                          .rsi = 4,
                                          .rdi = 5,
                                          .rbp = 6,
                                          .rsp = 7,
                                          .r8 = 8,
                                          .r9 = 9,
                                          .r10 = 10,
                                          .r11 = 11,
                                          .r12 = 12,
                                          .r13 = 13,
                                          .r14 = 14,
                                          .r15 = 15,
                                          .rip = 16};
    struct stopped at;
    stop_describe(&user, &at);
    ck_assert_int_lt(at.call, 0);
    for (uint64_t i = 0; i < X86_COUNT; i++)
        ck_assert_uint_eq(at.regs.r[i], i);
}
END_TEST

CHECK_MAIN("stop", 20, a_stop_says_which_call_it_interrupted, registers_have_their_dwarf_numbers)
