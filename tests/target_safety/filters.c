/* A thread under a seccomp filter.
 *   filters kill     polls for 1 ms in a loop; restart_syscall(2), which its author did not think
 *                         of, kills it
 *   filters late     the same; the filter is installed a second after the start
 *   filters errno    the same; restart_syscall(2) fails
 *   filters notify   calls what another thread answers for it (SECCOMP_RET_USER_NOTIF), and
 *                         computes in turns */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"

enum { ANSWER = 4711, COMPUTE_NS = 100000, ANSWER_NS = 300000, LATE_NS = 1000000000 };

static struct count counts[] = {
    {.name = "done"}, {.name = "wrong"}, {.name = "asked"}, {.name = "filtered"}, {0}};
enum { DONE, WRONG, ASKED, FILTERED };

static atomic_int notify_fd = -1;
static bool is_late;

/* What NUMBER gives; all else is allowed.  Returns the listener, or −1. */
static int filter(unsigned number, unsigned action, unsigned flags)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        fail("prctl");
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    counts[FILTERED].n = fd >= 0;
    return fd;
}

/* Its frame is one that only rbp tells the size of: its stack needs registers. */
static __attribute__((noinline)) int poll_in_odd_frame(size_t n)
{
    volatile int *room = __builtin_alloca(n);
    room[0] = poll(NULL, 0, 1);
    return room[0];
}

static void *poll_main(void *action)
{
    int64_t begun = now_ns();
    for (;;) {
        if (!counts[FILTERED].n && (!is_late || now_ns() - begun > LATE_NS) &&
            filter(SYS_restart_syscall, *(unsigned *)action, 0) < 0)
            fail("seccomp");
        counts[WRONG].n += poll_in_odd_frame((size_t)(16 + counts[DONE].n % 64)) != 0;
        counts[DONE].n++;
    }
    return NULL;
}

static __attribute__((noinline)) void compute(int64_t ns)
{
    for (int64_t end = now_ns() + ns; now_ns() < end;)
        continue;
}

static void *ask_main(void *unused)
{
    notify_fd = filter(SYS_getppid, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    for (;;) {
        compute(COMPUTE_NS);
        counts[WRONG].n += syscall(SYS_getppid) != ANSWER;
        counts[DONE].n++;
    }
    return unused;
}

static void *answer_main(void *unused)
{
    while (notify_fd < 0)
        (void)usleep(1000);
    for (;;) {
        struct seccomp_notif request = {0};
        if (ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &request))
            continue;
        (void)nanosleep(&(struct timespec){.tv_nsec = ANSWER_NS}, NULL);
        struct seccomp_notif_resp response = {.id = request.id, .val = ANSWER};
        counts[ASKED].n++;
        (void)ioctl(notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
    return unused;
}

int main(int argc, char **argv)
{
    static unsigned action = SECCOMP_RET_KILL_PROCESS;
    const char *kind = argc > 1 ? argv[1] : "";
    is_late = strcmp(kind, "late") == 0;
    if (strcmp(kind, "errno") == 0)
        action = SECCOMP_RET_ERRNO | EPERM;
    if (strcmp(kind, "notify") == 0) {
        start_thread(answer_main, NULL, "supervisor");
        start_thread(ask_main, NULL, "worker");
    } else {
        start_thread(poll_main, &action, "worker");
    }
    answer(counts);
    _exit(0);
}
