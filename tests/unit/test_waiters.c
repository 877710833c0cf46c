/* Which threads run, which wait for a CPU, and which of these are asked to stop. */
#include "sampler/waiters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "sampler/on_cpu.h"
#include "sampler/state.h"
#include "sampler/thread.h"
#include "target/task_sched.h"
#include "tests/support/check_main.h"

enum { RUNS = 100, RUN_NS = 5000 };
static const uint64_t woke_ns = 11452365339654;

static struct sampler *sampler;
static struct process process;
static struct thread thread;

static void set_up(void)
{
    static const struct sampler_config config = {.rate_hz = 100, .max_held = 1};
    sampler = sampler_new(&config);
    sampler->can = (struct abilities){.schedstat = true, .sched = true};
    sampler->waiters.at_once = 2;
    sampler->waiters.a_tick = 0.5;
    sampler->woke_ns = woke_ns;
    process = (struct process){.pid = getpid()};
    thread = (struct thread){.id = 7, .tid = getpid(), .process = &process, .wait_share = 1};
    for (int i = 0; i < THREAD_FILE_COUNT; i++)
        thread.fds[i] = -1;
    thread.fds[FILE_SCHEDSTAT] = memfd_create("schedstat", MFD_CLOEXEC);
    thread.fds[FILE_SCHED] = memfd_create("sched", MFD_CLOEXEC);
    thread.fds[FILE_SYSCALL] = memfd_create("syscall", MFD_CLOEXEC);
    ck_assert(thread.fds[FILE_SCHEDSTAT] >= 0 && thread.fds[FILE_SCHED] >= 0 &&
              thread.fds[FILE_SYSCALL] >= 0);
}

static void tear_down(void)
{
    close(thread.fds[FILE_SCHEDSTAT]);
    close(thread.fds[FILE_SCHED]);
    close(thread.fds[FILE_SYSCALL]);
    sampler_free(sampler);
}

static void write_file(int fd, const char *text)
{
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* The kernel's files: the thread has RUNS runs and as many switches less AHEAD, and was switched
 * last at SINCE_NS. */
static void kernel_says(uint64_t run_ns, int ahead, uint64_t since_ns)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%lu 0 %d\n", (unsigned long)run_ns, RUNS);
    write_file(thread.fds[FILE_SCHEDSTAT], text);
    (void)snprintf(text, sizeof text,
                   "burn (7, #threads: 1)\n---------\n"
                   "se.exec_start                                :      %lu.%06lu\n"
                   "nr_switches                                  :      %d\n"
                   "nr_voluntary_switches                        :      %d\n"
                   "nr_involuntary_switches                      :      %d\n",
                   (unsigned long)(since_ns / 1000000), (unsigned long)(since_ns % 1000000),
                   RUNS - ahead, 10, RUNS - ahead - 10);
    write_file(thread.fds[FILE_SCHED], text);
    thread.sched = (struct schedstat){.run_ns = run_ns, .runs = RUNS};
}

/* And it is AWAKE, or sleeps in a call (proc_pid_syscall(5)). */
static void kernel_says_awake(bool awake)
{
    write_file(thread.fds[FILE_SYSCALL],
               awake ? "running\n" : "35 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc0 0x401000\n");
}

static enum thread_state state(void)
{
    return on_cpu_state(sampler, &thread);
}

START_TEST(the_schedulers_text_is_parsed)
{
    static const char good[] = "a\nb (1, #threads: 1)\n----\n"
                               "se.exec_start  :   11452365.039654\n"
                               "nr_voluntary_switches   :   3\nnr_involuntary_switches : 40\nx\n";
    struct task_sched t;
    ck_assert_int_eq(task_sched_parse(good, sizeof good - 1, &t), 0);
    ck_assert_uint_eq(t.exec_start_ns, 11452365039654);
    ck_assert_uint_eq(t.switches, 43);
    for (size_t len = 0; len < sizeof good - 4; len++) /* cut within the last number, it is 4 */
        ck_assert_msg(task_sched_parse(good, len, &t) == -71 || t.switches == 7, "%zu", len);
    static const char *const bad[] = {
        "\nse.exec_start : 1.5\nnr_voluntary_switches : 3\nnr_involuntary_switches : 4\n",
        "\nse.exec_start : -1.000000\nnr_voluntary_switches : 3\nnr_involuntary_switches : 4\n",
        "\nse.exec_start 1.000000\nnr_voluntary_switches : 3\nnr_involuntary_switches : 4\n",
        "\nse.exec_start : 99999999999999999999.000000\nnr_voluntary_switches : 3\n"
        "nr_involuntary_switches : 4\n",
        "\nse.exec_start : 18446744073709551.000000\nnr_voluntary_switches : 3\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(task_sched_parse(bad[i], strlen(bad[i]), &t) == -71, "%s", bad[i]);
}
END_TEST

START_TEST(run_count_and_switches_tell_who_waits)
{
    set_up();
    kernel_says(RUN_NS, 1, woke_ns - 1);
    ck_assert_int_eq(state(), THREAD_RUNNING);
    ck_assert_msg(thread.base_known, "no base is above 0, so this one is 0");
    kernel_says(RUN_NS, 0, woke_ns - 1);
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    ck_assert(!thread.displaced);
    tear_down();
}
END_TEST

START_TEST(the_thread_that_the_sampler_displaced_was_running)
{
    set_up();
    kernel_says(RUN_NS, 0, woke_ns);
    ck_assert_int_eq(state(), THREAD_RUNNING);
    ck_assert(thread.displaced && thread.base_known);
    sampler->woke_ns = 0; /* unknown */
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    tear_down();
}
END_TEST

START_TEST(without_a_known_base_a_thread_is_asked)
{
    set_up();
    kernel_says(RUN_NS, 0, 0);
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    thread.wait_shown = true;
    sampler->waiters.found_before = 1000000;
    ck_assert_msg(!waiters_leave(sampler, &thread), "it may run, with a base of -1");
    kernel_says(RUN_NS, 1, 0);
    (void)state();
    kernel_says(RUN_NS, 0, 0);
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    ck_assert(waiters_leave(sampler, &thread));
    sampler->can.sched = false;
    ck_assert_msg(!waiters_leave(sampler, &thread), "the displaced one is not known");
    tear_down();
}
END_TEST

/* The kernel has missed a run of a thread whose base was known: while it runs it now looks as if it
 * waited.  Its run time grows, and the next look is right. */
START_TEST(a_wrong_base_silences_no_thread)
{
    set_up();
    kernel_says(RUN_NS, 1, 0);
    ck_assert_int_eq(state(), THREAD_RUNNING);
    kernel_says(RUN_NS, 0, 0);
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    claim_sampled(&thread, THREAD_RUNNABLE, (struct wait_place){0}, true);
    waiters_moved(&thread);
    ck_assert_msg(thread.base_known, "nothing has moved");
    kernel_says(RUN_NS + 1, 0, 0);
    ck_assert(!claim_holds(&thread.sampled, &thread.sched));
    waiters_moved(&thread);
    ck_assert_int_eq(state(), THREAD_RUNNING);
    kernel_says(RUN_NS + 1, -1, 0);
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    tear_down();
}
END_TEST

START_TEST(a_wait_is_looked_at_again_after_a_while)
{
    set_up();
    kernel_says(RUN_NS, 0, 0);
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    sampler->tick_ns = thread.wait_seen_ns = NS_PER_S;
    kernel_says_awake(true);
    kernel_says(RUN_NS, 1, 0);
    ck_assert(waiters_still(sampler, &thread));
    sampler->tick_ns += NS_PER_S / 10;
    ck_assert_msg(!waiters_still(sampler, &thread), "it runs");
    tear_down();
}
END_TEST

/* Of one that sleeps the run count is not ahead of its switches, either. */
START_TEST(who_sleeps_waits_for_no_cpu)
{
    set_up();
    kernel_says(RUN_NS, 0, 0);
    sampler->tick_ns = NS_PER_S;
    kernel_says_awake(true);
    ck_assert(waiters_still(sampler, &thread));
    sampler->tick_ns += NS_PER_S / 10;
    kernel_says_awake(false);
    ck_assert(!waiters_still(sampler, &thread));
    tear_down();
}
END_TEST

/* What the look saw counts, not what a later one would, as long as the run lasts and the tick. */
START_TEST(a_look_before_the_call_is_used_once)
{
    set_up();
    sampler->tick_ns = NS_PER_S;
    kernel_says(RUN_NS, 0, 0);
    ck_assert(!on_cpu_looked(sampler, &thread));
    on_cpu_look(sampler, &thread);
    ck_assert(on_cpu_looked(sampler, &thread));
    kernel_says(RUN_NS, 1, 0);
    ck_assert_int_eq(state(), THREAD_RUNNABLE);
    ck_assert(!on_cpu_looked(sampler, &thread));
    ck_assert_int_eq(state(), THREAD_RUNNING);
    on_cpu_look(sampler, &thread);
    sampler->tick_ns++;
    ck_assert_msg(!on_cpu_looked(sampler, &thread), "another tick");
    on_cpu_look(sampler, &thread);
    thread.sched.runs++;
    ck_assert_msg(!on_cpu_looked(sampler, &thread), "another run");
    tear_down();
}
END_TEST

static int count_asked(int n)
{
    int asked = 0;
    for (int i = 0; i < n; i++)
        asked += !waiters_leave(sampler, &thread);
    return asked;
}

START_TEST(chance_decides_who_is_asked)
{
    enum { N = 100000, FOUND = 5 };
    const double share = 0.5 / FOUND;
    set_up();
    thread.base_known = thread.wait_shown = true;
    sampler->waiters.found_before = FOUND;
    double sigma = sqrt(N * share * (1 - share));
    ck_assert_double_eq_tol(count_asked(N), N * share, 4.5 * sigma);
    waiters_begin_tick(&sampler->waiters);
    ck_assert_uint_eq(sampler->waiters.found_before, N);
    tear_down();
}
END_TEST

START_TEST(no_more_are_asked_than_may_be_pending)
{
    set_up();
    struct thread other = thread;
    thread.base_known = true;
    ck_assert_msg(!waiters_leave(sampler, &thread), "where it waits was never shown");
    waiters_asked(sampler, &thread);
    waiters_asked(sampler, &thread);
    waiters_asked(sampler, &other);
    ck_assert(waiters_leave(sampler, &thread));
    ck_assert_int_eq(count_asked(1000), 0);
    waiters_stopped(sampler, &thread);
    waiters_stopped(sampler, &thread);
    ck_assert_uint_eq(sampler->waiters.asked, 1);
    ck_assert(!waiters_leave(sampler, &thread));
    waiters_stopped(sampler, &other);
    tear_down();
}
END_TEST

CHECK_MAIN("waiters", 20, the_schedulers_text_is_parsed, run_count_and_switches_tell_who_waits,
           the_thread_that_the_sampler_displaced_was_running,
           without_a_known_base_a_thread_is_asked, a_wrong_base_silences_no_thread,
           a_wait_is_looked_at_again_after_a_while, who_sleeps_waits_for_no_cpu,
           a_look_before_the_call_is_used_once, chance_decides_who_is_asked,
           no_more_are_asked_than_may_be_pending)
