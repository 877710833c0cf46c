/* Where a thread waits for a CPU, if it was not asked. */
#include "worker/cpu_waits.h"

#include "tests/support/check_main.h"
#include "worker/stack_builder.h"

static struct cpu_waits waits;

static struct built_stack wait_at(uint32_t stack, uint64_t python, bool plain)
{
    return (struct built_stack){.at.stack = {stack},
                                .settled.stack = {stack + 1},
                                .python = python != 0,
                                .python_hash = python,
                                .plain = plain,
                                .plain_stack = {stack + 2}};
}

static void shown(uint32_t stack, uint64_t python, bool plain)
{
    const struct built_stack built = wait_at(stack, python, plain);
    cpu_waits_add(&waits, &built);
}

/* The stack that a wait at ASKED gets; 0: none. */
static uint32_t stack_of(uint64_t python)
{
    struct built_stack built = wait_at(900, python, false);
    return cpu_waits_complete(&waits, &built) ? built.at.stack.ix : 0;
}

START_TEST(a_wait_has_the_stack_of_the_last_one_that_was_asked)
{
    waits = (struct cpu_waits){0};
    ck_assert_uint_eq(stack_of(0), 0);
    shown(10, 0, false);
    ck_assert_uint_eq(stack_of(0), 10);
    shown(20, 0, false);
    ck_assert_uint_eq(stack_of(0), 20);
    ck_assert_uint_eq(waits.n, 1);
}
END_TEST

START_TEST(pythons_frames_are_the_same)
{
    waits = (struct cpu_waits){0};
    shown(10, 1, false);
    shown(20, 2, false);
    ck_assert_uint_eq(stack_of(1), 10);
    ck_assert_uint_eq(stack_of(2), 20);
    ck_assert_msg(stack_of(3) == 0, "what is below them is unknown");
    ck_assert_msg(stack_of(0) == 0, "a thread without Python is elsewhere");
}
END_TEST

START_TEST(python_that_runs_by_itself_has_its_own_frames)
{
    waits = (struct cpu_waits){0};
    shown(10, 1, true);
    ck_assert_uint_eq(stack_of(1), 902);
    ck_assert_uint_eq(stack_of(3), 902);
    shown(20, 2, false);
    ck_assert_uint_eq(stack_of(1), 902);
    ck_assert_msg(stack_of(3) == 0, "the last one had native frames");
}
END_TEST

START_TEST(the_oldest_is_forgotten)
{
    waits = (struct cpu_waits){0};
    for (uint32_t i = 1; i <= CPU_WAITS_KEPT; i++)
        shown(i, i, false);
    shown(50, 1, false); /* now the last */
    shown(60, 99, false);
    ck_assert_uint_eq(stack_of(1), 50);
    ck_assert_uint_eq(stack_of(99), 60);
    ck_assert_uint_eq(stack_of(2), 0);
    ck_assert_uint_eq(stack_of(CPU_WAITS_KEPT), CPU_WAITS_KEPT);
    ck_assert_uint_eq(waits.n, CPU_WAITS_KEPT);
}
END_TEST

CHECK_MAIN("cpu_waits", 20, a_wait_has_the_stack_of_the_last_one_that_was_asked,
           pythons_frames_are_the_same, python_that_runs_by_itself_has_its_own_frames,
           the_oldest_is_forgotten)
