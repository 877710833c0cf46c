#include "sampler/tracer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "target/proc.h"
#include "tests/support/check_main.h"

enum { GOT_IT = 4 };
static const int64_t longest_ns = 10 * (int64_t)NS_PER_S;

static _Atomic int64_t seizing_since_ns, holding_since_ns;
static int stops, releases, ended_with;
static int64_t deaf_ns; /* in the last hold */

static void on_signal(int number)
{
    (void)number;
    _exit(GOT_IT);
}

/* It ends by GOT_IT when it gets SIGUSR1. */
static pid_t start_target(void)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGUSR1, on_signal);
        (void)!write(ready[1], "r", 1);
        for (;;)
            (void)pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    return pid;
}

static bool on_stopped(void *ctx, const struct stop *stop)
{
    (void)ctx, (void)stop;
    stops++;
    return true;
}

static void on_released(void *ctx, uint64_t tag, const struct hold *hold)
{
    (void)ctx, (void)tag;
    ck_assert_uint_ge(hold->most_ns, 1);
    deaf_ns = hold->deaf_ns;
    releases++;
}

static void on_gone(void *ctx, uint64_t tag)
{
    (void)ctx, (void)tag;
}

static void on_child(void *ctx, pid_t pid, int status)
{
    (void)ctx, (void)pid;
    ended_with = status;
}

static struct tracer *start_tracer(void)
{
    struct tracer_handler handler = {NULL,        &seizing_since_ns, &holding_since_ns, on_stopped,
                                     on_released, on_gone,           on_child};
    ended_with = -1;
    return tracer_new(&handler);
}

static char state_of(pid_t pid)
{
    struct task_status status;
    return proc_status(pid, 0, &status) == 0 ? status.state : '?';
}

static void await_state(pid_t pid, char state)
{
    int64_t end_ns = clock_now_ns() + longest_ns;
    while (state_of(pid) != state && clock_now_ns() < end_ns)
        (void)usleep(1000);
    ck_assert_int_eq(state_of(pid), state);
}

/* It got SIGUSR1, and nothing else was in its way. */
static void assert_got_it(struct tracer *tracer)
{
    int64_t end_ns = clock_now_ns() + longest_ns / 2;
    while (ended_with < 0 && clock_now_ns() < end_ns) {
        tracer_reap(tracer);
        (void)usleep(1000);
    }
    ck_assert_int_ne(ended_with, -1);
    ck_assert(WIFEXITED(ended_with));
    ck_assert_int_eq(WEXITSTATUS(ended_with), GOT_IT);
    tracer_free(tracer);
}

/* A signal that comes when the thread is attached stops it before the request does.  So that it
 * surely does, the test attaches in tracer_request()'s place. */
START_TEST(a_signal_that_stopped_it_is_delivered)
{
    pid_t pid = start_target();
    struct tracer *tracer = start_tracer();
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, pid, 0L, 0L), 0);
    ck_assert_int_eq(kill(pid, SIGUSR1), 0);
    await_state(pid, 't');
    tracer_reap(tracer);
    ck_assert_int_eq(stops, 1);
    assert_got_it(tracer);
}
END_TEST

START_TEST(who_was_asked_to_stop_goes_on)
{
    pid_t pid = start_target();
    struct tracer *tracer = start_tracer();
    ck_assert_int_eq(tracer_request(tracer, pid, pid, 1, false), 0);
    ck_assert(tracer_poll(tracer, pid, longest_ns));
    ck_assert_int_eq(stops, 1);
    ck_assert_int_eq(releases, 1);
    ck_assert_uint_eq(tracer_pending(tracer), 0);
    await_state(pid, 'S');
    ck_assert_int_eq(kill(pid, SIGUSR1), 0);
    assert_got_it(tracer);
}
END_TEST

/* A stop is waited for, or comes while the sampler does something else. */
START_TEST(for_how_long_no_stop_could_be_heard_is_known)
{
    const int64_t other_ns = 200 * (int64_t)NS_PER_MS;
    pid_t pid = start_target();
    struct tracer *tracer = start_tracer();
    for (int other = 0; other < 2; other++) {
        tracer_reap(tracer);
        ck_assert_int_eq(tracer_request(tracer, pid, pid, 1, false), 0);
        if (other)
            clock_sleep(other_ns);
        (void)tracer_sleep(tracer, clock_now_ns() + other_ns, -1);
        ck_assert_int_eq(releases, other + 1);
        ck_assert_int_eq(deaf_ns >= other_ns, other);
    }
    ck_assert_int_eq(kill(pid, SIGUSR1), 0);
    assert_got_it(tracer);
}
END_TEST

CHECK_MAIN("tracer", 40, a_signal_that_stopped_it_is_delivered, who_was_asked_to_stop_goes_on,
           for_how_long_no_stop_could_be_heard_is_known)
