/* Each test is a process of its own (check forks), so that handlers and counters are fresh. */
#include "cli/signals.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

START_TEST(attached_the_second_request_discards)
{
    signals_open(false);
    ck_assert(!signals_stop_wanted());
    (void)raise(SIGUSR1);
    ck_assert(signals_take_snapshot() && !signals_take_snapshot());
    ck_assert(!signals_stop_wanted());
    (void)raise(SIGTERM);
    ck_assert(signals_stop_wanted() && !signals_discard_wanted());
    ck_assert(signals_hear_stop() && !signals_hear_stop());
    (void)raise(SIGINT);
    ck_assert(signals_discard_wanted());
}
END_TEST

/* As sudo, systemd and a shell with the kernel send them: of one act of the user's. */
START_TEST(signals_that_come_together_are_one_request)
{
    signals_open(false);
    (void)raise(SIGTERM);
    (void)raise(SIGINT);
    (void)raise(SIGHUP);
    ck_assert(signals_stop_wanted() && !signals_discard_wanted());
    (void)signals_hear_stop();
    (void)raise(SIGHUP); /* the terminal is gone: nobody has read anything */
    ck_assert(!signals_discard_wanted());
    (void)raise(SIGTERM);
    ck_assert(signals_discard_wanted());
}
END_TEST

START_TEST(what_was_ignored_stays_so)
{
    (void)signal(SIGHUP, SIG_IGN);
    signals_open(false);
    (void)raise(SIGHUP);
    ck_assert(!signals_stop_wanted());
}
END_TEST

START_TEST(an_interrupt_ends_an_attached_recording_in_the_background)
{
    (void)signal(SIGINT, SIG_IGN);
    signals_open(false);
    (void)raise(SIGINT);
    ck_assert(signals_stop_wanted());
}
END_TEST

START_TEST(a_launched_command_inherits_an_ignored_interrupt)
{
    struct sigaction now;
    (void)signal(SIGINT, SIG_IGN);
    signals_open(true);
    ck_assert_int_eq(sigaction(SIGINT, NULL, &now), 0);
    ck_assert(now.sa_handler == SIG_IGN);
}
END_TEST

START_TEST(a_wait_ends_with_the_signal)
{
    signals_open(false);
    int64_t start = clock_now_ns();
    signals_wait(10LL * NS_PER_MS);
    ck_assert_int_ge(clock_now_ns() - start, 10LL * NS_PER_MS);
    sigset_t old;
    signals_block(&old);
    (void)raise(SIGINT);
    ck_assert(!signals_stop_wanted());
    signals_restore(&old);
    start = clock_now_ns();
    signals_wait(10LL * NS_PER_S);
    ck_assert_int_lt(clock_now_ns() - start, NS_PER_S);
    ck_assert(signals_stop_wanted());
}
END_TEST

START_TEST(signals_are_noticed_without_a_descriptor)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {0, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    signals_open(false);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_lt(signals_fd(), 0);
    (void)raise(SIGINT);
    signals_drain();
    ck_assert(signals_stop_wanted());
    signals_wait(NS_PER_MS);
    ck_assert(signals_hear_stop());
    (void)raise(SIGINT);
    ck_assert(signals_discard_wanted());
}
END_TEST

static volatile sig_atomic_t got;
static void note(int number)
{
    got = number;
}

/* Runs as the command: exits with the first signal of SET that it gets. */
static pid_t start_command(int ready)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)signal(numbers[i], note);
    (void)!write(ready, "", 1);
    (void)sigsuspend(&none);
    _exit(got);
}

START_TEST(launched_a_sent_signal_goes_on)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    int ready[2];
    char byte;
    int status = 0;
    ck_assert_int_eq(pipe(ready), 0);
    signals_open(true);
    pid_t command = start_command(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    signals_set_command(command);
    (void)raise(numbers[_i]);
    ck_assert_int_eq(waitpid(command, &status, 0), command);
    ck_assert_int_eq(WEXITSTATUS(status), numbers[_i]);
    ck_assert(!signals_stop_wanted() && !signals_take_snapshot());

    signals_set_command(0);
    (void)raise(SIGWINCH);
    ck_assert(!signals_stop_wanted());
    (void)raise(SIGTERM);
    ck_assert(signals_stop_wanted());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("signals");
    TCase *tcase = tcase_create("signals");
    tcase_add_test(tcase, attached_the_second_request_discards);
    tcase_add_test(tcase, signals_that_come_together_are_one_request);
    tcase_add_test(tcase, what_was_ignored_stays_so);
    tcase_add_test(tcase, an_interrupt_ends_an_attached_recording_in_the_background);
    tcase_add_test(tcase, a_launched_command_inherits_an_ignored_interrupt);
    tcase_add_test(tcase, a_wait_ends_with_the_signal);
    tcase_add_test(tcase, signals_are_noticed_without_a_descriptor);
    tcase_add_loop_test(tcase, launched_a_sent_signal_goes_on, 0, 7);
    suite_add_tcase(suite, tcase);
    return check_end(suite);
}
