/* Calls that the kernel restarts after a stop, unseen by the program. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "counts.h"

enum { NS_PER_US = 1000 };

/* ---- sleeps ---- */

static int do_nanosleep(struct call *c, struct timespec t)
{
    (void)c;
    return timed_out(syscall(SYS_nanosleep, &t, NULL), 0);
}

static int do_clock_nanosleep(struct call *c, struct timespec t)
{
    (void)c;
    return timed_out(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL), 0);
}

static int do_sleep_until(struct call *c, struct timespec t)
{
    (void)c;
    t = from_now(CLOCK_MONOTONIC, t);
    return timed_out(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL), 0);
}

/* ---- poll and select ---- */

static int do_poll(struct call *c, struct timespec t)
{
    struct pollfd fd = {.fd = c->fds[0], .events = POLLIN};
    return timed_out(poll(&fd, 1, milliseconds(t)), 0);
}

static int do_ppoll(struct call *c, struct timespec t)
{
    struct pollfd fd = {.fd = c->fds[0], .events = POLLIN};
    return timed_out(ppoll(&fd, 1, &t, NULL), 0);
}

static int do_select(struct call *c, struct timespec t)
{
    struct timeval timeout = {.tv_usec = t.tv_nsec / NS_PER_US};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(c->fds[0], &set);
    return timed_out(select(c->fds[0] + 1, &set, NULL, NULL, &timeout), 0);
}

static int do_pselect(struct call *c, struct timespec t)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(c->fds[0], &set);
    return timed_out(pselect(c->fds[0] + 1, &set, NULL, NULL, &t, NULL), 0);
}

/* ---- futex ---- */

static int do_futex(struct call *c, struct timespec t)
{
    (void)c;
    static unsigned word;
    return timed_out(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0), ETIMEDOUT);
}

static int do_futex_bitset(struct call *c, struct timespec t)
{
    (void)c;
    static unsigned word;
    t = from_now(CLOCK_MONOTONIC, t);
    return timed_out(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &t, NULL, 1),
                     ETIMEDOUT);
}

/* Of a lock that the main thread has. */
static int do_futex_lock_pi(struct call *c, struct timespec t)
{
    (void)c;
    static unsigned word;
    unsigned free_word = 0;
    (void)__atomic_compare_exchange_n(&word, &free_word, (unsigned)getpid(), 0, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
    t = from_now(CLOCK_REALTIME, t);
    return timed_out(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, &t, NULL, 0), ETIMEDOUT);
}

static int do_futex_waitv(struct call *c, struct timespec t)
{
    (void)c;
    static unsigned word;
    struct futex_waitv waiter = {.uaddr = (uintptr_t)&word, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG};
    t = from_now(CLOCK_MONOTONIC, t);
    return timed_out(syscall(SYS_futex_waitv, &waiter, 1, 0, &t, CLOCK_MONOTONIC), ETIMEDOUT);
}

static int do_semaphore(struct call *c, struct timespec t)
{
    (void)c;
    static sem_t semaphore; /* zeros: 0, private */
    t = from_now(CLOCK_MONOTONIC, t);
    return timed_out(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &t), ETIMEDOUT);
}

static int do_condition(struct call *c, struct timespec t)
{
    (void)c;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    t = from_now(CLOCK_MONOTONIC, t);
    (void)pthread_mutex_lock(&mutex);
    int r = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &t);
    (void)pthread_mutex_unlock(&mutex);
    return r == ETIMEDOUT ? RIGHT : r ? r : ODD;
}

/* ---- reads ---- */

static int do_read_byte(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    return moved(read(c->fds[0], &byte, 1), 1);
}

static void make_plain_sockets(struct call *c)
{
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, c->fds), "socketpair");
}

static int do_recvmmsg(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    struct iovec span = {&byte, 1};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &span, .msg_iovlen = 1}};
    return moved(recvmmsg(c->fds[0], &message, 1, 0, NULL), 1);
}

static void make_eventfd(struct call *c)
{
    c->fds[0] = c->fds[1] = eventfd(0, 0);
}

static int do_read_eventfd(struct call *c, struct timespec t)
{
    (void)t;
    uint64_t n;
    return moved(read(c->fds[0], &n, sizeof n), sizeof n);
}

static void make_timerfd(struct call *c)
{
    c->fds[0] = timerfd_create(CLOCK_MONOTONIC, 0);
}

static int do_timerfd(struct call *c, struct timespec t)
{
    uint64_t n;
    struct itimerspec timer = {.it_value = t};
    must(timerfd_settime(c->fds[0], 0, &timer, NULL), "timerfd_settime");
    return read(c->fds[0], &n, sizeof n) == sizeof n ? RIGHT : errno;
}

static void make_signalfd(struct call *c)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    c->fds[0] = signalfd(-1, &set, 0);
}

static int do_signalfd(struct call *c, struct timespec t)
{
    (void)t;
    struct signalfd_siginfo info;
    return moved(read(c->fds[0], &info, sizeof info), sizeof info);
}

/* A file without a name; PATH leads to it. */
static int make_file(char path[64])
{
    char name[] = "/tmp/wallspy-calls-XXXXXX";
    int fd = mkstemp(name);
    must(fd, "mkstemp");
    (void)unlink(name);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void make_inotify(struct call *c)
{
    char path[64];
    c->fds[1] = make_file(path);
    c->fds[0] = inotify_init1(0);
    must(inotify_add_watch(c->fds[0], path, IN_MODIFY), "inotify_add_watch");
}

static int do_inotify(struct call *c, struct timespec t)
{
    (void)t;
    char events[CALL_BYTES];
    return read(c->fds[0], events, sizeof events) > 0 ? RIGHT : errno;
}

static void feed_file(struct call *c)
{
    (void)!pwrite(c->fds[1], "x", 1, 0);
}

static void make_terminal(struct call *c)
{
    c->fds[0] = posix_openpt(O_RDWR | O_NOCTTY);
    must(c->fds[0], "posix_openpt");
    must(unlockpt(c->fds[0]), "unlockpt");
    c->fds[1] = open(ptsname(c->fds[0]), O_RDWR | O_NOCTTY);
    must(c->fds[1], "pty");
}

/* ---- sockets without a time-out ---- */

static void make_listener(struct call *c)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* the kernel chooses an abstract one */
    c->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    must(bind(c->fds[0], (struct sockaddr *)&name, sizeof(sa_family_t)), "bind");
    must(listen(c->fds[0], 1), "listen");
}

static int do_accept(struct call *c, struct timespec t)
{
    (void)t;
    int fd = accept(c->fds[0], NULL, NULL);
    if (fd < 0)
        return errno;
    (void)close(fd);
    return RIGHT;
}

static void feed_connection(struct call *c)
{
    struct sockaddr_un name;
    socklen_t len = sizeof name;
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    must(getsockname(c->fds[0], (struct sockaddr *)&name, &len), "getsockname");
    (void)connect(client, (struct sockaddr *)&name, len);
    (void)close(client);
}

/* ---- signals ---- */

static _Thread_local volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    handled = handled + 1;
}

static void make_handler(struct call *c)
{
    (void)c;
    struct sigaction action = {.sa_handler = on_signal};
    must(sigaction(SIGUSR1, &action, NULL), "sigaction");
}

/* These return EINTR when a handler ran, and only then. */
static int was_handled(long r, sig_atomic_t before)
{
    return r == -1 && errno == EINTR && handled == before + 1 ? RIGHT : ODD;
}

static int do_sigsuspend(struct call *c, struct timespec t)
{
    (void)c;
    (void)t;
    sigset_t set;
    sig_atomic_t before = handled;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return was_handled(sigsuspend(&set), before);
}

/* One that comes before the pause is not lost to the count: it is handled here, then the next is
 * awaited. */
static int do_pause(struct call *c, struct timespec t)
{
    (void)c;
    (void)t;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    sig_atomic_t before = handled;
    long r = pause();
    return r == -1 && errno == EINTR && handled > before ? RIGHT : ODD;
}

/* ---- messages ---- */

struct message {
    long kind;
    char byte;
};

static void make_queue(struct call *c)
{
    c->fds[0] = msgget(IPC_PRIVATE, 0600);
    must(c->fds[0], "msgget");
}

static void free_queue(struct call *c)
{
    (void)msgctl(c->fds[0], IPC_RMID, NULL);
}

static int do_msgrcv(struct call *c, struct timespec t)
{
    (void)t;
    struct message message;
    return moved(msgrcv(c->fds[0], &message, 1, 0, 0), 1);
}

static void feed_message(struct call *c)
{
    struct message message = {.kind = 1};
    (void)msgsnd(c->fds[0], &message, 1, IPC_NOWAIT);
}

static void make_posix_queue(struct call *c)
{
    char name[64];
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 1};
    (void)snprintf(name, sizeof name, "/wallspy-%d-%s", getpid(), c->name);
    c->fds[0] = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
    must(c->fds[0], "mq_open");
    (void)mq_unlink(name);
}

static void make_full_posix_queue(struct call *c)
{
    make_posix_queue(c);
    must(mq_send(c->fds[0], "x", 1, 0), "mq_send");
}

static int do_mq_receive(struct call *c, struct timespec t)
{
    char byte;
    t = from_now(CLOCK_REALTIME, t);
    return timed_out(mq_timedreceive(c->fds[0], &byte, 1, NULL, &t), ETIMEDOUT);
}

static int do_mq_send(struct call *c, struct timespec t)
{
    t = from_now(CLOCK_REALTIME, t);
    return timed_out(mq_timedsend(c->fds[0], "x", 1, 0, &t), ETIMEDOUT);
}

/* ---- children ---- */

static pid_t start_child(struct timespec t)
{
    pid_t pid = fork();
    must(pid, "fork");
    if (pid == 0) {
        (void)nanosleep(&t, NULL);
        _exit(0);
    }
    return pid;
}

static int do_wait4(struct call *c, struct timespec t)
{
    (void)c;
    pid_t pid = start_child(t);
    return moved(waitpid(pid, NULL, 0), pid);
}

static int do_waitid(struct call *c, struct timespec t)
{
    (void)c;
    siginfo_t info;
    return timed_out(waitid(P_PID, (id_t)start_child(t), &info, WEXITED), 0);
}

/* ---- file locks: between open files, of which the second has the lock until it is fed ---- */

static int set_ofd_lock(int fd, int command, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    return fcntl(fd, command, &lock);
}

static void make_locked_file(struct call *c)
{
    char path[64];
    c->fds[0] = make_file(path);
    c->fds[1] = open(path, O_RDWR);
    must(c->fds[1], "open");
}

static int do_flock(struct call *c, struct timespec t)
{
    (void)t;
    (void)flock(c->fds[1], LOCK_EX | LOCK_NB);
    int r = flock(c->fds[0], LOCK_EX);
    int ret = r == 0 ? RIGHT : errno;
    (void)flock(c->fds[0], LOCK_UN);
    return ret;
}

static void feed_flock(struct call *c)
{
    (void)flock(c->fds[1], LOCK_UN);
}

static int do_ofd_lock(struct call *c, struct timespec t)
{
    (void)t;
    (void)set_ofd_lock(c->fds[1], F_OFD_SETLK, F_WRLCK);
    int r = set_ofd_lock(c->fds[0], F_OFD_SETLKW, F_WRLCK);
    int ret = r == 0 ? RIGHT : errno;
    (void)set_ofd_lock(c->fds[0], F_OFD_SETLK, F_UNLCK);
    return ret;
}

static void feed_ofd_lock(struct call *c)
{
    (void)set_ofd_lock(c->fds[1], F_OFD_SETLK, F_UNLCK);
}

struct call restarted_calls[MAX_CALLS] = {
    {.name = "nanosleep", .once = do_nanosleep, .is_exact = 1},
    {.name = "clock_nanosleep", .once = do_clock_nanosleep, .is_exact = 1},
    {.name = "sleep_until", .once = do_sleep_until, .is_exact = 1},
    {.name = "poll", .prepare = make_pipe, .once = do_poll, .is_exact = 1},
    {.name = "ppoll", .prepare = make_pipe, .once = do_ppoll, .is_exact = 1},
    {.name = "select", .prepare = make_pipe, .once = do_select},
    {.name = "pselect", .prepare = make_pipe, .once = do_pselect},
    {.name = "futex", .once = do_futex, .is_exact = 1},
    {.name = "futex_bitset", .once = do_futex_bitset, .is_exact = 1},
    {.name = "futex_lock_pi", .once = do_futex_lock_pi},
    {.name = "futex_waitv", .once = do_futex_waitv, .is_exact = 1},
    {.name = "sem_clockwait", .once = do_semaphore, .is_exact = 1},
    {.name = "cond_clockwait", .once = do_condition, .is_exact = 1},
    {.name = "pipe_read", .prepare = make_pipe, .once = do_read_byte, .feed = feed_byte},
    {.name = "socket_read", .prepare = make_plain_sockets, .once = do_read_byte, .feed = feed_byte},
    {.name = "recvmmsg", .prepare = make_plain_sockets, .once = do_recvmmsg, .feed = feed_byte},
    {.name = "eventfd", .prepare = make_eventfd, .once = do_read_eventfd, .feed = feed_eventfd},
    {.name = "timerfd", .prepare = make_timerfd, .once = do_timerfd, .is_exact = 1},
    {.name = "signalfd", .prepare = make_signalfd, .once = do_signalfd, .feed = feed_signal},
    {.name = "inotify", .prepare = make_inotify, .once = do_inotify, .feed = feed_file},
    {.name = "terminal", .prepare = make_terminal, .once = do_read_byte, .feed = feed_byte},
    {.name = "accept_plain", .prepare = make_listener, .once = do_accept, .feed = feed_connection},
    {.name = "sigsuspend", .prepare = make_handler, .once = do_sigsuspend, .feed = feed_signal},
    {.name = "pause", .prepare = make_handler, .once = do_pause, .feed = feed_signal},
    {.name = "msgrcv",
     .prepare = make_queue,
     .once = do_msgrcv,
     .feed = feed_message,
     .release = free_queue},
    {.name = "mq_receive", .prepare = make_posix_queue, .once = do_mq_receive},
    {.name = "mq_send", .prepare = make_full_posix_queue, .once = do_mq_send},
    {.name = "wait4", .once = do_wait4, .feed = feed_nothing},
    {.name = "waitid", .once = do_waitid, .feed = feed_nothing},
    {.name = "flock", .prepare = make_locked_file, .once = do_flock, .feed = feed_flock},
    {.name = "ofd_lock", .prepare = make_locked_file, .once = do_ofd_lock, .feed = feed_ofd_lock},
    {0},
};
