#include "sampler/altstack.h"

#include <signal.h>
#include <string.h>
#include <sys/ucontext.h>

#include "tests/support/check_main.h"

enum { STACK_BYTES = 8192, MAIN_SP = 0x7ffc12345678 };
static const uint64_t START = 0x55d000001000; /* of the alternate stack */

static uint8_t bytes[STACK_BYTES];

/* Writes the context of a signal that found RSP. */
static void put(size_t at, uint64_t rsp)
{
    ucontext_t context = {.uc_flags = 7};
    context.uc_stack.ss_sp = (void *)(uintptr_t)START;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)rsp;
    memcpy(bytes + at, &context, sizeof context);
}

static bool look(size_t from, uint64_t *ret_sp)
{
    return altstack_interrupted(bytes + from, STACK_BYTES - from, START + from, ret_sp);
}

START_TEST(interrupted_stack_is_found)
{
    uint64_t sp = 0;
    memset(bytes, 0, sizeof bytes);
    put(6000 / 16 * 16, MAIN_SP);
    for (size_t from = 0; from <= 5984; from += 8)
        ck_assert(look(from, &sp));
    ck_assert_uint_eq(sp, MAIN_SP);
    ck_assert(!look(6000 + 8, &sp));
}
END_TEST

/* Neither the rest of an earlier handler counts nor a signal that came during the handler. */
START_TEST(outermost_switch_counts)
{
    uint64_t sp = 0;
    memset(bytes, 0, sizeof bytes);
    put(6000 / 16 * 16, MAIN_SP);
    put(3200, MAIN_SP + 4096);
    put(1600, START + 3000);
    ck_assert(look(0, &sp));
    ck_assert_uint_eq(sp, MAIN_SP);
}
END_TEST

START_TEST(no_other_stack_is_none)
{
    uint64_t sp = 1;
    memset(bytes, 0, sizeof bytes);
    ck_assert(!look(0, &sp));
    memset(bytes, 0xff, sizeof bytes);
    ck_assert(!look(0, &sp));
    memset(bytes, 0, sizeof bytes);
    put(1600, START + 3000); /* on this very stack */
    ck_assert(!look(0, &sp));
    put(1600, MAIN_SP);
    ck_assert(!altstack_interrupted(bytes, STACK_BYTES, START + STACK_BYTES, &sp)); /* main stack */
    for (size_t len = 0; len < 1600 + 184; len++)
        ck_assert(!altstack_interrupted(bytes, len, START, &sp));
    ck_assert_uint_eq(sp, 1);
}
END_TEST

CHECK_MAIN("altstack", 5, interrupted_stack_is_found, outermost_switch_counts,
           no_other_stack_is_none)
