/* Where a thread waits for a CPU, if it was not asked. */
#include "worker/cpu_waits.h"

#include "base/random.h"
#include "tests/support/check_main.h"
#include "worker/stack_builder.h"

static struct cpu_waits waits;
static struct profile *profile;

static struct built_stack wait_at(uint32_t stack, uint64_t python, bool plain)
{
    return (struct built_stack){.at.stack = {stack},
                                .settled.stack = {stack},
                                .python = python != 0,
                                .python_hash = python,
                                .outer_hash = python / 100,
                                .plain = plain,
                                .plain_stack = {stack}};
}

enum { A = 10, B = 20, C = 30 };

/* A wait that was asked with probability SHARE, and took NS. */
static void shown(uint32_t stack, uint64_t python, bool plain, double share, int64_t ns)
{
    const struct built_stack built = wait_at(stack, python, plain);
    cpu_waits_add(&waits, &built, share);
    cpu_waits_took(&waits, ns);
}

/* The stack that a wait at PYTHON gets, which takes NS; 0: none. */
static uint32_t stack_of(uint64_t python, int64_t ns)
{
    struct built_stack built = wait_at(900, python, false);
    uint32_t stack = cpu_waits_complete(&waits, profile, &built) ? built.at.stack.ix : 0;
    cpu_waits_took(&waits, ns);
    return stack;
}

START_TEST(a_wait_uses_up_the_credit_of_one_that_was_asked)
{
    waits = (struct cpu_waits){0};
    ck_assert_uint_eq(stack_of(0, 5), 0);
    shown(A, 0, false, 0.5, 10);  /* stands for 20: 10 more */
    shown(B, 0, false, 0.25, 10); /* for 40: 30 more */
    ck_assert_uint_eq(stack_of(0, 15), B);
    ck_assert_uint_eq(stack_of(0, 7), A); /* it has half of its credit left, B less */
    ck_assert_uint_eq(stack_of(0, 8), B);
    ck_assert_uint_eq(stack_of(0, 1), B);
}
END_TEST

START_TEST(a_part_of_a_wait_counts_for_its_time)
{
    waits = (struct cpu_waits){0};
    shown(A, 0, false, 0.5, 10);
    cpu_waits_took(&waits, 10); /* it went on */
    shown(B, 0, false, 0.5, 15);
    ck_assert_uint_eq(stack_of(0, 1), A);
    shown(C, 0, false, 0.5, 90);
    cpu_waits_none(&waits); /* a sample that runs */
    cpu_waits_took(&waits, 1000);
    ck_assert_double_eq_tol(waits.kept[2].credit_ns, 90, 1e-9);
}
END_TEST

/* Chance, or waits that end before they are asked, give less credit than there is time. */
START_TEST(what_is_missing_of_the_credit_is_shared_by_weight)
{
    enum { N = 4000 };
    double first_ns = 0;
    waits = (struct cpu_waits){0};
    for (int i = 0; i < N; i++) {
        if (i % 50 == 0) { /* A has four fifths of the time, and both half of their credit */
            shown(A, 0, false, 1. / 26, 40);
            shown(B, 0, false, 1. / 26, 10);
        }
        first_ns += stack_of(0, 50) == A ? 50 : 0;
    }
    ck_assert_double_eq_tol(first_ns / (50. * N), 0.8, 0.01);
}
END_TEST

/* Waits at B are as frequent as those at A, and last three times as long. */
START_TEST(long_waits_have_their_share_of_the_time)
{
    enum { N = 20000 };
    uint64_t seed = 88172645463325252;
    double shown_ns = 0;
    double all_ns = 0;
    waits = (struct cpu_waits){0};
    for (int i = 0; i < N; i++) {
        uint32_t place = random_share(&seed) < 0.5 ? A : B;
        int64_t ns = place == A ? 10 : 30;
        uint32_t stack = place;
        if (random_share(&seed) < 0.2)
            shown(place, 0, false, 0.2, ns);
        else
            stack = stack_of(0, ns);
        shown_ns += stack == B ? (double)ns : 0;
        all_ns += (double)ns;
    }
    /* 4,000 waits were asked: their share of the time has a sigma of 0.6 %. */
    ck_assert_double_eq_tol(shown_ns / all_ns, 0.75, 4.5 * 0.006);
}
END_TEST

START_TEST(pythons_frames_are_the_same)
{
    waits = (struct cpu_waits){0};
    shown(A, 100, false, 0.5, 10);
    shown(B, 200, false, 0.5, 90);
    ck_assert_uint_eq(stack_of(100, 1), A);
    ck_assert_uint_eq(stack_of(200, 1), B);
    ck_assert_msg(stack_of(300, 1) == 0, "what is below them is unknown");
    ck_assert_msg(stack_of(0, 1) == 0, "a thread without Python is elsewhere");
}
END_TEST

static frame_id mark(const char *text)
{
    return profile_mark(profile, text, NULL);
}

/* Elsewhere in the same function it has the frames around it that were asked, native ones, too. */
START_TEST(python_that_runs_by_itself_has_its_own_innermost_frame)
{
    profile = profile_new(1 << 20);
    stack_id native = profile_push(profile, (stack_id){0}, mark("start_thread"));
    stack_id asked = profile_push(profile, native, mark("f:3"));
    stack_id own = profile_push(profile, (stack_id){0}, mark("f:5"));
    waits = (struct cpu_waits){0};
    shown(asked.ix, 101, true, 0.5, 10);
    struct built_stack built = wait_at(own.ix, 102, true);
    ck_assert(cpu_waits_complete(&waits, profile, &built));
    ck_assert_uint_eq(built.at.stack.ix, profile_push(profile, native, mark("f:5")).ix);
    cpu_waits_took(&waits, 4);
    ck_assert_double_eq_tol(waits.kept[0].credit_ns, 6, 1e-9);
    ck_assert_msg(stack_of(201, 1) == 0, "another function");
    waits = (struct cpu_waits){0};
    shown(asked.ix, 101, false, 0.5, 10);
    ck_assert_msg(stack_of(102, 1) == 0, "it called something");
    ck_assert_uint_eq(stack_of(101, 1), asked.ix);
    profile_free(profile);
}
END_TEST

START_TEST(the_poorest_is_forgotten)
{
    waits = (struct cpu_waits){0};
    for (uint32_t i = 1; i <= CPU_WAITS_KEPT; i++)
        shown(i, i, false, 0.5, i == 3 ? 1 : 10);
    shown(99, 99, false, 0.5, 1);
    ck_assert_uint_eq(waits.n, CPU_WAITS_KEPT);
    ck_assert_uint_eq(stack_of(3, 1), 0);
    ck_assert_uint_eq(stack_of(99, 1), 99);
    ck_assert_uint_eq(stack_of(1, 1), 1);
}
END_TEST

CHECK_MAIN("cpu_waits", 20, a_wait_uses_up_the_credit_of_one_that_was_asked,
           a_part_of_a_wait_counts_for_its_time, what_is_missing_of_the_credit_is_shared_by_weight,
           long_waits_have_their_share_of_the_time, pythons_frames_are_the_same,
           python_that_runs_by_itself_has_its_own_innermost_frame, the_poorest_is_forgotten)
