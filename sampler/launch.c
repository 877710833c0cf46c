#include "sampler/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs in the child and never returns.  The pipe closes by itself if the exec succeeds. */
static void run_child(char *const argv[], int report_fd)
{
    execvp(argv[0], argv);
    int error = errno;
    (void)!write(report_fd, &error, sizeof error);
    _exit(127);
}

int launch_exec_failed(const char *command, int error, struct err *err)
{
    if (error == ENOENT && strchr(command, '/') && access(command, F_OK) == 0)
        return err_set(
            err, -error,
            "cannot run %s: the interpreter that it names (in its #! line, or the dynamic "
            "loader) does not exist",
            command);
    return err_set(err, -error, "cannot run %s: %s", command, strerror(error));
}

/* As execve will, so that no signal to the command runs a handler of ours before that. */
static void drop_handlers(void)
{
    struct sigaction action;
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action.sa_handler = SIG_DFL;
        action.sa_flags = 0;
        (void)sigaction(number, &action, NULL);
    }
}

int launch_start(pid_t *ret, char *const argv[], const sigset_t *mask, struct err *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return err_set(err, -errno, "cannot start %s: %s", argv[0], strerror(errno));
    /* wallspy's parent (cron, some supervisors) may ignore it, and then children have no status. */
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigemptyset(&by_default.sa_mask);
    (void)sigaction(SIGCHLD, &by_default, &before);
    pid_t pid = fork();
    if (pid == 0) {
        (void)sigaction(SIGCHLD, &before, NULL);
        drop_handlers();
        (void)sigprocmask(SIG_SETMASK, mask, NULL);
        run_child(argv, report[1]);
    }
    int error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        ssize_t n;
        do
            n = read(report[0], &error, sizeof error);
        while (n < 0 && errno == EINTR);
        if (n == sizeof error)
            (void)launch_wait(pid, &(int){0});
        else
            error = 0;
    }
    close(report[0]);
    if (error)
        return launch_exec_failed(argv[0], error, err);
    *ret = pid;
    return 0;
}

int launch_wait(pid_t pid, int *ret_status)
{
    *ret_status = 0;
    while (waitpid(pid, ret_status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

int launch_exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
