#include "base/program.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

enum { LIMIT_S = 10, SHORT_MS = 200 };

static struct text said;
static int64_t took_ns;

/* Runs the shell's SCRIPT. */
static int run(const char *script, int64_t limit_ns)
{
    char shell[] = "sh";
    char option[] = "-c";
    char variable[] = "WORD=from the environment";
    char *argv[] = {shell, option, strdup(script), NULL};
    char *env[] = {variable, NULL};
    int64_t before_ns = clock_now_ns();
    int r = program_run(argv, env, limit_ns, &said);
    took_ns = clock_now_ns() - before_ns;
    free(argv[2]);
    return r;
}

static int run_long(const char *script)
{
    return run(script, (int64_t)LIMIT_S * NS_PER_S);
}

START_TEST(what_it_prints_is_taken)
{
    ck_assert_int_eq(run_long("echo $WORD; echo and more >&2; cat"), 0);
    ck_assert_str_eq(said.s, "from the environment\nand more\n");
}
END_TEST

START_TEST(a_program_that_fails_has_said_why)
{
    ck_assert_int_eq(run_long("echo the reason >&2; exit 3"), 0);
    ck_assert_str_eq(said.s, "the reason\n");
}
END_TEST

START_TEST(no_such_program)
{
    char name[] = "no-such-program-at-all";
    char *argv[] = {name, NULL};
    char *env[] = {NULL};
    ck_assert_int_eq(program_run(argv, env, (int64_t)LIMIT_S * NS_PER_S, &said), -ENOENT);
    ck_assert_ptr_null(said.s);
}
END_TEST

START_TEST(one_that_hangs_is_killed_at_the_limit)
{
    ck_assert_int_eq(run("echo $$; exec sleep 60", (int64_t)SHORT_MS * NS_PER_MS), -ETIMEDOUT);
    ck_assert_int_ge(took_ns, (int64_t)SHORT_MS * NS_PER_MS);
    ck_assert_int_lt(took_ns, 5LL * NS_PER_S);
    pid_t pid = (pid_t)strtol(said.s, NULL, 10);
    ck_assert_int_gt(pid, 1);
    ck_assert_int_eq(kill(pid, 0), -1); /* neither alive nor a zombie */
    ck_assert_int_eq(errno, ESRCH);
}
END_TEST

START_TEST(one_that_prints_for_ever_is_killed_and_fills_no_memory)
{
    ck_assert_int_eq(run("exec yes", (int64_t)SHORT_MS * NS_PER_MS), -ETIMEDOUT);
    ck_assert_uint_eq(said.len, PROGRAM_OUTPUT_BYTES);
}
END_TEST

START_TEST(signals_are_as_in_a_new_program)
{
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)signal(SIGHUP, SIG_IGN);
    ck_assert_int_eq(run_long("kill -HUP $$; echo it went on"), 0);
    ck_assert_ptr_null(said.s);
    ck_assert_int_eq(
        run_long("read -r stat </proc/$$/stat; set -- $stat; [ $5 = $$ ] && echo own group"), 0);
    ck_assert_str_eq(said.s, "own group\n");
}
END_TEST

START_TEST(somebody_else_may_reap_it)
{
    (void)signal(SIGCHLD, SIG_IGN); /* the kernel does, here */
    ck_assert_int_eq(run_long("echo done"), 0);
    ck_assert_str_eq(said.s, "done\n");
}
END_TEST

CHECK_MAIN("program", 20, what_it_prints_is_taken, a_program_that_fails_has_said_why,
           no_such_program, one_that_hangs_is_killed_at_the_limit,
           one_that_prints_for_ever_is_killed_and_fills_no_memory, signals_are_as_in_a_new_program,
           somebody_else_may_reap_it)
