#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static void set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    (void)posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                   POSIX_SPAWN_SETPGROUP);
}

static int set_streams(posix_spawn_file_actions_t *actions, int output)
{
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
    return error;
}

/* posix_spawn(3), not fork(2): a copied address space would make the sampler's thread fault while
 * it holds a thread.  Returns 0 or a negative errno. */
static int start(pid_t *ret, char *const argv[], char *const env[], int output)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    if (posix_spawnattr_init(&attributes) != 0)
        return -ENOMEM;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        (void)posix_spawnattr_destroy(&attributes);
        return -ENOMEM;
    }
    set_attributes(&attributes);
    int error = set_streams(&actions, output);
    if (!error)
        error = posix_spawnp(ret, argv[0], &actions, &attributes, argv, env);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -error;
}

/* Milliseconds until DEADLINE_NS, rounded up; 0: it has passed. */
static int ms_until(int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - clock_now_ns();
    return left_ns > 0 ? (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
}

/* Returns 0 at the end of the output, -ETIMEDOUT. */
static int take_output(int fd, int64_t deadline_ns, struct text *ret)
{
    char buf[4096];
    for (size_t taken = 0;;) {
        struct pollfd input = {fd, POLLIN, 0};
        int wait_ms = ms_until(deadline_ns);
        if (wait_ms == 0)
            return -ETIMEDOUT;
        if (poll(&input, 1, wait_ms) <= 0)
            continue; /* a signal, or the time has passed */
        ssize_t n = read(fd, buf, sizeof buf);
        if (n <= 0)
            return 0;
        size_t room = PROGRAM_OUTPUT_BYTES - taken;
        size_t kept = (size_t)n < room ? (size_t)n : room;
        text_add_bytes(ret, buf, kept);
        taken += kept;
    }
}

/* Kills process PID, to which PIDFD refers (negative: to none), and reaps it unless the sampler
 * has.  Does not kill by the number alone: once PID is reaped another may have it. */
static void end(pid_t pid, int pidfd)
{
    enum { MOST_MS = 100 }; /* it may hang in the kernel */
    siginfo_t info;
    struct pollfd ended = {pidfd, POLLIN, 0};
    if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0)
        (void)poll(&ended, 1, MOST_MS);
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG);
}

int program_run(char *const argv[], char *const env[], int64_t limit_ns, struct text *ret)
{
    int64_t deadline_ns = clock_now_ns() + limit_ns;
    int fds[2];
    pid_t pid = 0;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    int error = start(&pid, argv, env, fds[1]);
    close(fds[1]);
    if (error == 0) {
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        error = take_output(fds[0], deadline_ns, ret);
        end(pid, pidfd);
        if (pidfd >= 0)
            close(pidfd);
    }
    close(fds[0]);
    return error;
}
