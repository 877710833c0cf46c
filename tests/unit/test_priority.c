#include "sampler/priority.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

static const int64_t second_ns = NS_PER_S;
static struct priority priority;

static int nice_now(void)
{
    return getpriority(PRIO_PROCESS, 0);
}

static void drop_cap_sys_nice(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    ck_assert_int_eq(syscall(SYS_capget, &header, data), 0);
    data[0].effective &= ~(1U << CAP_SYS_NICE);
    ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
}

/* On a machine of so many CPUs.  The tests may have been started with a nice of their own. */
static bool none_is_granted(int cpus)
{
    (void)setpriority(PRIO_PROCESS, 0, 0);
    priority_set(&priority, cpus);
    bool none = atomic_load(&priority.kind) != PRIORITY_RAISED;
    return check_skips(none, "neither CAP_SYS_NICE nor RLIMIT_NICE grants a better nice");
}

static void assert_is(enum sampler_priority kind, int nice)
{
    ck_assert_int_eq(atomic_load(&priority.kind), kind);
    ck_assert_int_eq(atomic_load(&priority.nice), nice);
    ck_assert_int_eq(nice_now(), nice);
}

static int nice_of_child(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(nice_now() + 20);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status) - 20;
}

START_TEST(the_thread_alone_has_it)
{
    if (none_is_granted(1))
        return;
    assert_is(PRIORITY_RAISED, priority.best);
    ck_assert_int_lt(priority.best, 0);
    ck_assert_int_eq(nice_of_child(), 0);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER | SCHED_RESET_ON_FORK);
}
END_TEST

START_TEST(without_the_capability_it_is_what_the_limit_grants)
{
    struct rlimit limit = {.rlim_cur = 27, .rlim_max = 27};
    struct rlimit none = {0};
    (void)setpriority(PRIO_PROCESS, 0, 0);
    if (check_skips(nice_now() != 0, "the tests have a nice of their own"))
        return;
    drop_cap_sys_nice();
    ck_assert_int_eq(setrlimit(RLIMIT_NICE, &none), 0);
    priority_set(&priority, 1);
    assert_is(PRIORITY_USUAL, 0);
    ck_assert_int_eq(nice_of_child(), 0);
    if (check_skips(setrlimit(RLIMIT_NICE, &limit) != 0, "the limit may not be raised"))
        return;
    priority_set(&priority, 1);
    assert_is(PRIORITY_RAISED, -7);
}
END_TEST

START_TEST(what_the_user_set_stays)
{
    int given = nice_now() < 5 ? 5 : nice_now();
    ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, given), 0);
    priority_set(&priority, 1);
    assert_is(PRIORITY_USERS, given);
    ck_assert_int_eq(sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}), 0);
    priority_set(&priority, 1);
    assert_is(PRIORITY_USERS, given);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_BATCH);
    ck_assert(!priority_keep(&priority, second_ns, second_ns));
}
END_TEST

START_TEST(it_is_given_up_above_a_tenth_of_a_cpu)
{
    int64_t now_ns = 100 * second_ns;
    if (none_is_granted(1))
        return;
    for (int i = 0; i < 100; i++, now_ns += second_ns / 10) /* 9.9 % */
        ck_assert(!priority_keep(&priority, now_ns, i * INT64_C(9900000)));
    ck_assert(!priority_keep(&priority, now_ns, INT64_C(990000000)));
    ck_assert(priority_keep(&priority, now_ns + 1, INT64_C(1090000001)));
    assert_is(PRIORITY_GIVEN_UP, 0);
}
END_TEST

START_TEST(it_comes_back_ever_later)
{
    int64_t now_ns = 100 * second_ns;
    int64_t cpu_ns = 0;
    if (none_is_granted(1))
        return;
    ck_assert(!priority_keep(&priority, now_ns, cpu_ns));
    for (int64_t pause_ns = second_ns; pause_ns < 200 * second_ns; pause_ns *= 2) {
        int64_t expected_ns = pause_ns < 64 * second_ns ? pause_ns : 64 * second_ns;
        ck_assert(priority_keep(&priority, now_ns, cpu_ns += second_ns));
        ck_assert(!priority_keep(&priority, now_ns + expected_ns - 1, cpu_ns += second_ns));
        assert_is(PRIORITY_GIVEN_UP, 0);
        ck_assert(!priority_keep(&priority, now_ns += expected_ns, cpu_ns));
        assert_is(PRIORITY_RAISED, priority.best);
    }
}
END_TEST

START_TEST(with_many_cpus_it_is_a_hundredth_of_all)
{
    if (none_is_granted(64))
        return;
    ck_assert(!priority_keep(&priority, second_ns, 0));
    ck_assert(!priority_keep(&priority, second_ns + 1, 640 * (int64_t)NS_PER_MS));
    ck_assert(priority_keep(&priority, second_ns + 1, 641 * (int64_t)NS_PER_MS));
}
END_TEST

CHECK_MAIN("priority", 20, the_thread_alone_has_it,
           without_the_capability_it_is_what_the_limit_grants, what_the_user_set_stays,
           it_is_given_up_above_a_tenth_of_a_cpu, it_comes_back_ever_later,
           with_many_cpus_it_is_a_hundredth_of_all)
