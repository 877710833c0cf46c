#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { END_MS = 1000 }; /* one that was killed may hang in the kernel */

/* What is read is a beginning of what was written: stdio goes on after a write that failed, and
 * would leave a hole. */
static ssize_t write_or_end(void *fd, const char *bytes, size_t len)
{
    int *out = fd;
    size_t done = 0;
    while (done < len && *out >= 0) {
        ssize_t n = write(*out, bytes + done, len - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            close(*out);
            *out = -1;
        }
    }
    return done == len ? (ssize_t)len : 0;
}

static _Noreturn void be_child(const char *name, void (*make)(void *ctx, FILE *out), void *ctx,
                               int fd)
{
    sigset_t fault;
    sigemptyset(&fault);
    sigaddset(&fault, SIGBUS);
    (void)pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, name);
    FILE *out = fopencookie(&fd, "w", (cookie_io_functions_t){.write = write_or_end});
    if (!out)
        _exit(EXIT_FAILURE);
    make(ctx, out);
    _exit(fclose(out) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int child_start(struct child *c, const char *name, void (*make)(void *ctx, FILE *out), void *ctx)
{
    int fds[2];
    sigset_t all;
    sigset_t old;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        be_child(name, make, ctx, fds[1]);
    }
    int error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return -error;
    }
    *c = (struct child){pid, (int)syscall(SYS_pidfd_open, pid, 0), fds[0]};
    return 0;
}

ssize_t child_read(struct child *c, int wait_ms, struct text *ret)
{
    char part[1 << 14];
    struct pollfd ready = {.fd = c->fd, .events = POLLIN};
    if (poll(&ready, 1, wait_ms) <= 0)
        return -EAGAIN;
    ssize_t n = read(c->fd, part, sizeof part);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    text_add_bytes(ret, part, (size_t)n);
    return n;
}

/* Once the number is free another process may have it.  While its output is open the child
 * lives. */
static bool is_open(const struct child *c)
{
    struct pollfd end = {.fd = c->fd};
    return poll(&end, 1, 0) == 0;
}

void child_kill(const struct child *c)
{
    if (c->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
    else if (is_open(c))
        (void)kill(c->pid, SIGKILL);
}

void child_end(struct child *c, struct text *why)
{
    siginfo_t info = {0};
    for (int ms = 0; ms < END_MS && !info.si_pid; ms++) {
        if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG) < 0 && errno != EINTR)
            break;
        if (!info.si_pid)
            clock_sleep(NS_PER_MS);
    }
    if (why && (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED))
        text_add(why, strsignal(info.si_status));
    else if (why)
        text_add(why, "it ended early");
    if (c->pidfd >= 0)
        close(c->pidfd);
    close(c->fd);
    *c = (struct child){.pidfd = -1, .fd = -1};
}
