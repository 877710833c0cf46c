#include "base/duty_cycle.h"

#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

enum { SHARE = 30, WAIT_MS = 20, BURN_MS = 3 };

static void wait_for(void)
{
    struct timespec t = {.tv_nsec = WAIT_MS * NS_PER_MS};
    (void)nanosleep(&t, NULL);
}

static void burn(void)
{
    int64_t end_ns = clock_cpu_ns() + (int64_t)BURN_MS * NS_PER_MS;
    while (clock_cpu_ns() < end_ns)
        continue;
}

/* How long WORK makes wait for its next time.  RET_CPU_NS and RET_WALL_NS: no less than what it
 * took. */
static int64_t pause_after(void (*work)(void), int64_t least_ns, int64_t *ret_cpu_ns,
                           int64_t *ret_wall_ns)
{
    struct duty_cycle r = {0};
    *ret_cpu_ns = -clock_cpu_ns();
    *ret_wall_ns = -clock_now_ns();
    ck_assert(duty_cycle_begin(&r));
    work();
    int64_t before_ns = clock_now_ns();
    duty_cycle_end(&r, SHARE, least_ns);
    *ret_wall_ns += clock_now_ns();
    *ret_cpu_ns += clock_cpu_ns();
    int64_t due_ns = r.due_ns;
    ck_assert(!duty_cycle_begin(&r));
    ck_assert_int_eq(r.due_ns, due_ns);
    return due_ns - before_ns;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

START_TEST(what_computes_waits_for_its_share)
{
    int64_t cpu_ns, wall_ns;
    int64_t pause_ns = pause_after(burn, 0, &cpu_ns, &wall_ns);
    ck_assert_int_ge(pause_ns, (int64_t)SHARE * BURN_MS * NS_PER_MS);
    ck_assert_int_le(pause_ns, larger(SHARE * cpu_ns, wall_ns) + wall_ns);
}
END_TEST

/* As a thread does that loses the CPU: it waits for as long as it took, not for thirty times
 * that. */
START_TEST(what_waits_is_due_soon)
{
    int64_t cpu_ns, wall_ns;
    int64_t pause_ns = pause_after(wait_for, 0, &cpu_ns, &wall_ns);
    ck_assert_int_ge(pause_ns, (int64_t)WAIT_MS * NS_PER_MS);
    ck_assert_int_le(pause_ns, larger(SHARE * cpu_ns, wall_ns) + wall_ns);
}
END_TEST

START_TEST(never_due_before_the_least_pause)
{
    int64_t cpu_ns, wall_ns;
    ck_assert_int_ge(pause_after(burn, NS_PER_S, &cpu_ns, &wall_ns), NS_PER_S);
}
END_TEST

START_TEST(due_again_when_the_pause_is_over)
{
    struct duty_cycle r = {0};
    ck_assert(duty_cycle_begin(&r));
    duty_cycle_end(&r, SHARE, 0);
    while (clock_now_ns() < r.due_ns)
        continue;
    ck_assert(duty_cycle_begin(&r));
}
END_TEST

/* Does work of BURN_MS leave R due no later than after the wall time that it took? */
static bool burn_is_free(struct duty_cycle *r)
{
    while (clock_now_ns() < r->due_ns)
        continue;
    int64_t begun_ns = clock_now_ns();
    ck_assert(duty_cycle_begin(r));
    burn();
    duty_cycle_end(r, SHARE, 0);
    int64_t end_ns = clock_now_ns();
    return r->due_ns - end_ns <= end_ns - begun_ns;
}

/* The first time takes the whole credit, the second one waits until it is paid back. */
START_TEST(a_credit_is_for_one_dear_time)
{
    struct duty_cycle r = {.credit_ns = (int64_t)SHARE * BURN_MS * NS_PER_MS};
    int64_t begun_ns = clock_now_ns();
    ck_assert(burn_is_free(&r));
    (void)burn_is_free(&r);
    ck_assert_int_ge(r.due_ns - begun_ns, r.credit_ns);
    int64_t paid_ns = r.due_ns + r.credit_ns;
    while (clock_now_ns() < paid_ns)
        continue;
    ck_assert(burn_is_free(&r));
}
END_TEST

/* However long the work takes. */
START_TEST(no_work_counts_for_more_than_the_credit)
{
    struct duty_cycle r = {.credit_ns = 10 * NS_PER_MS};
    ck_assert(burn_is_free(&r));
    int64_t begun_ns = clock_now_ns();
    (void)burn_is_free(&r);
    int64_t end_ns = clock_now_ns();
    ck_assert_int_le(r.due_ns - end_ns, larger(r.credit_ns, end_ns - begun_ns));
}
END_TEST

/* Work that cannot wait pays for itself alone. */
START_TEST(without_a_credit_nothing_adds_up)
{
    struct duty_cycle r = {0};
    int64_t cpu_ns = 0;
    int64_t wall_ns = 0;
    for (int i = 0; i < 5; i++) {
        r.due_ns = 0;
        cpu_ns = -clock_cpu_ns();
        wall_ns = -clock_now_ns();
        ck_assert(duty_cycle_begin(&r));
        burn();
        duty_cycle_end(&r, SHARE, 0);
        wall_ns += clock_now_ns();
        cpu_ns += clock_cpu_ns();
    }
    ck_assert_int_le(r.due_ns - clock_now_ns(), larger(SHARE * cpu_ns, wall_ns));
}
END_TEST

CHECK_MAIN("duty_cycle", 20, what_computes_waits_for_its_share, what_waits_is_due_soon,
           never_due_before_the_least_pause, due_again_when_the_pause_is_over,
           a_credit_is_for_one_dear_time, no_work_counts_for_more_than_the_credit,
           without_a_credit_nothing_adds_up)
