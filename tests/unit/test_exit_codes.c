#include "cli/exit_codes.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/launch.h"
#include "tests/support/check_main.h"

/* As README.md says them: scripts ask for numbers. */
START_TEST(codes_say_what_was_wrong)
{
    ck_assert_int_eq(exit_code_of_errno(-ESRCH), 4);
    ck_assert_int_eq(exit_code_of_errno(-EPERM), 3);
    ck_assert_int_eq(exit_code_of_errno(-EACCES), 3);
    ck_assert_int_eq(exit_code_of_errno(-ENOENT), 5);
    ck_assert_int_eq(exit_code_of_errno(-EIO), 1);
    ck_assert_int_eq(exit_code_of_exec(ENOENT), 127);
    ck_assert_int_eq(exit_code_of_exec(ENOTDIR), 127);
    ck_assert_int_eq(exit_code_of_exec(EACCES), 126);
    ck_assert_int_eq(exit_code_of_obstacle(ATTACH_NO_PROCESS), 4);
    ck_assert_int_eq(exit_code_of_obstacle(ATTACH_ZOMBIE), 4);
    ck_assert_int_eq(exit_code_of_obstacle(ATTACH_YAMA), 3);
    ck_assert_int_eq(exit_code_of_obstacle(ATTACH_TRACED), 3);
    ck_assert_int_eq(exit_code_of_obstacle(ATTACH_32_BIT), 5);
}
END_TEST

static int code_of_command(const char *script)
{
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)script, NULL};
    struct err err = {0};
    sigset_t none;
    pid_t pid = 0;
    int status = 0;
    sigemptyset(&none);
    ck_assert_int_eq(launch_start(&pid, argv, &none, &err), 0);
    ck_assert_int_eq(launch_wait(pid, &status), 0);
    return launch_exit_code(status);
}

START_TEST(a_commands_code_is_passed_on_as_a_shell_does)
{
    ck_assert_int_eq(code_of_command("exit 0"), 0);
    ck_assert_int_eq(code_of_command("exit 3"), 3);
    ck_assert_int_eq(code_of_command("kill -KILL $$"), 128 + SIGKILL);
    ck_assert_int_eq(code_of_command("kill -TERM $$"), 128 + SIGTERM);
}
END_TEST

START_TEST(a_command_that_cannot_run_is_told_at_once)
{
    char *const missing[] = {(char *)"/nowhere/at/all", NULL};
    char *const folder[] = {(char *)"/", NULL};
    struct err err = {0};
    sigset_t none;
    pid_t pid = 0;
    sigemptyset(&none);
    ck_assert_int_eq(launch_start(&pid, missing, &none, &err), -ENOENT);
    ck_assert_int_eq(launch_start(&pid, folder, &none, &err), -EACCES);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no child is left behind */
}
END_TEST

CHECK_MAIN("exit_codes", 20, codes_say_what_was_wrong, a_commands_code_is_passed_on_as_a_shell_does,
           a_command_that_cannot_run_is_told_at_once)
