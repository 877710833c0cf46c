/* One thread for each kind of waiting call, which makes it over and over, with short time-outs or
 * fed by others every millisecond, so that it is always about to enter or leave.  No signal is ever
 * sent, so no call may be interrupted, give up early or move less than asked. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"

enum { BYTES = 4096, SOCKET_TIMEOUT_US = 1000, LONG_SECONDS = 30 };

/* What a call came to: an errno, or one of these. */
enum { RIGHT = 0, SHORT = -1, ODD = -2 };

struct call {
    const char *name;
    void (*prepare)(struct call *);
    int (*once)(struct call *, struct timespec timeout); /* returns what it came to */
    int is_exact;                                        /* never before its time-out */
    int fds[2];                                          /* the thread's own end is the first */
    unsigned long context;
};

static const struct timeval short_wait = {.tv_usec = SOCKET_TIMEOUT_US};
static const struct timeval long_wait = {.tv_sec = LONG_SECONDS};

/* Did it time out with WANTED (an errno; 0: by returning 0)? */
static int timed_out(long r, int wanted)
{
    if (wanted == 0)
        return r == 0 ? RIGHT : r < 0 ? errno : ODD;
    if (r >= 0)
        return ODD;
    return errno == wanted ? RIGHT : errno;
}

static int moved(ssize_t r, ssize_t wanted)
{
    if (r < 0)
        return errno;
    return r == wanted ? RIGHT : SHORT;
}

static int milliseconds(struct timespec t)
{
    return (int)(t.tv_nsec + 999999) / 1000000;
}

/* ---- what each waits on ---- */

static void must(long r, const char *what)
{
    if (r < 0)
        fail(what);
}

static void make_epoll(struct call *c)
{
    c->fds[0] = epoll_create1(0);
    c->fds[1] = eventfd(0, EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    must(epoll_ctl(c->fds[0], EPOLL_CTL_ADD, c->fds[1], &event), "epoll_ctl");
}

static void make_pipe(struct call *c)
{
    must(pipe(c->fds), "pipe");
    must(fcntl(c->fds[1], F_SETPIPE_SZ, BYTES), "F_SETPIPE_SZ");
}

static void make_sockets(struct call *c, const struct timeval *timeout)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, c->fds), "socketpair");
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_RCVTIMEO, timeout, sizeof *timeout), "SO_RCVTIMEO");
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_SNDTIMEO, timeout, sizeof *timeout), "SO_SNDTIMEO");
}

static void make_silent_socket(struct call *c)
{
    make_sockets(c, &short_wait);
}

static void make_fed_socket(struct call *c)
{
    make_sockets(c, &long_wait);
}

static void make_full_socket(struct call *c)
{
    static const char bytes[BYTES];
    make_sockets(c, &short_wait);
    while (send(c->fds[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

static void make_listener(struct call *c)
{
    c->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* the kernel chooses an abstract one */
    must(bind(c->fds[0], (struct sockaddr *)&name, sizeof(sa_family_t)), "bind");
    must(listen(c->fds[0], 0), "listen");
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_RCVTIMEO, &short_wait, sizeof short_wait), "accept");
}

static int connect_to(int listener, int client)
{
    struct sockaddr_un name;
    socklen_t len = sizeof name;
    must(getsockname(listener, (struct sockaddr *)&name, &len), "getsockname");
    return connect(client, (struct sockaddr *)&name, len);
}

/* A second one would have to wait. */
static void make_busy_listener(struct call *c)
{
    make_listener(c);
    must(connect_to(c->fds[0], socket(AF_UNIX, SOCK_STREAM, 0)), "connect");
}

static void make_semaphore(struct call *c)
{
    c->fds[0] = semget(IPC_PRIVATE, 1, 0600);
    must(c->fds[0], "semget");
}

static void make_aio(struct call *c)
{
    must(syscall(SYS_io_setup, 1, &c->context), "io_setup");
}

/* ---- the calls ---- */

static int do_epoll_wait(struct call *c, struct timespec t)
{
    struct epoll_event event;
    return timed_out(epoll_wait(c->fds[0], &event, 1, milliseconds(t)), 0);
}

static int do_epoll_pwait2(struct call *c, struct timespec t)
{
    struct epoll_event event;
    return timed_out(syscall(SYS_epoll_pwait2, c->fds[0], &event, 1, &t, NULL, 8), 0);
}

static int do_epoll_fed(struct call *c, struct timespec t)
{
    (void)t;
    struct epoll_event event;
    uint64_t n;
    int r = epoll_wait(c->fds[0], &event, 1, LONG_SECONDS * 1000);
    (void)!read(c->fds[1], &n, sizeof n);
    return moved(r, 1);
}

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
    struct timeval timeout = {.tv_usec = t.tv_nsec / 1000};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(c->fds[0], &set);
    return timed_out(select(c->fds[0] + 1, &set, NULL, NULL, &timeout), 0);
}

static int do_recv(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    return timed_out(recv(c->fds[0], &byte, 1, 0), EAGAIN);
}

static int do_read_socket(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    return timed_out(read(c->fds[0], &byte, 1), EAGAIN);
}

static int do_recv_fed(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    return moved(recv(c->fds[0], &byte, 1, 0), 1);
}

static int do_send(struct call *c, struct timespec t)
{
    (void)t;
    return timed_out(send(c->fds[0], c, 1, 0), EAGAIN);
}

static int do_accept(struct call *c, struct timespec t)
{
    (void)t;
    return timed_out(accept(c->fds[0], NULL, NULL), EAGAIN);
}

static int do_connect(struct call *c, struct timespec t)
{
    (void)t;
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &short_wait, sizeof short_wait);
    int ret = timed_out(connect_to(c->fds[0], client), EAGAIN);
    (void)close(client);
    return ret;
}

static int do_sigtimedwait(struct call *c, struct timespec t)
{
    (void)c;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return timed_out(sigtimedwait(&set, NULL, &t), EAGAIN);
}

static int do_semtimedop(struct call *c, struct timespec t)
{
    struct sembuf down = {.sem_op = -1};
    return timed_out(semtimedop(c->fds[0], &down, 1, &t), EAGAIN);
}

static int do_semop_fed(struct call *c, struct timespec t)
{
    (void)t;
    struct sembuf down = {.sem_op = -1};
    return moved(semop(c->fds[0], &down, 1), 0);
}

static int do_io_getevents(struct call *c, struct timespec t)
{
    struct io_event event;
    return timed_out(syscall(SYS_io_getevents, c->context, 1, 1, &event, &t), 0);
}

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

static int do_futex(struct call *c, struct timespec t)
{
    (void)c;
    static unsigned word;
    return timed_out(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0), ETIMEDOUT);
}

static int do_pipe_read_fed(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    return moved(read(c->fds[0], &byte, 1), 1);
}

static int do_pipe_write(struct call *c, struct timespec t)
{
    (void)t;
    static const char bytes[BYTES];
    return moved(write(c->fds[1], bytes, sizeof bytes), sizeof bytes);
}

static struct call calls[] = {
    {.name = "epoll_wait", .prepare = make_epoll, .once = do_epoll_wait, .is_exact = 1},
    {.name = "epoll_pwait2", .prepare = make_epoll, .once = do_epoll_pwait2, .is_exact = 1},
    {.name = "epoll_fed", .prepare = make_epoll, .once = do_epoll_fed},
    {.name = "poll", .prepare = make_pipe, .once = do_poll, .is_exact = 1},
    {.name = "ppoll", .prepare = make_pipe, .once = do_ppoll, .is_exact = 1},
    {.name = "select", .prepare = make_pipe, .once = do_select},
    {.name = "recv", .prepare = make_silent_socket, .once = do_recv, .is_exact = 1},
    {.name = "read_socket", .prepare = make_silent_socket, .once = do_read_socket, .is_exact = 1},
    {.name = "recv_fed", .prepare = make_fed_socket, .once = do_recv_fed},
    {.name = "send", .prepare = make_full_socket, .once = do_send},
    {.name = "accept", .prepare = make_listener, .once = do_accept},
    {.name = "connect", .prepare = make_busy_listener, .once = do_connect},
    {.name = "sigtimedwait", .once = do_sigtimedwait, .is_exact = 1},
    {.name = "semtimedop", .prepare = make_semaphore, .once = do_semtimedop, .is_exact = 1},
    {.name = "semop_fed", .prepare = make_semaphore, .once = do_semop_fed},
    {.name = "io_getevents", .prepare = make_aio, .once = do_io_getevents, .is_exact = 1},
    {.name = "nanosleep", .once = do_nanosleep, .is_exact = 1},
    {.name = "clock_nanosleep", .once = do_clock_nanosleep, .is_exact = 1},
    {.name = "futex", .once = do_futex, .is_exact = 1},
    {.name = "pipe_read_fed", .prepare = make_pipe, .once = do_pipe_read_fed},
    {.name = "pipe_write", .prepare = make_pipe, .once = do_pipe_write},
};
enum { N_CALLS = sizeof calls / sizeof *calls };

/* eintr, short, early, odd; how often each call was made, and how often one of these befell it. */
enum { INTERRUPTED, CUT, EARLY, OTHER, FIRST_CALL };
static struct count counts[FIRST_CALL + 2 * N_CALLS + 1] = {
    {.name = "eintr"}, {.name = "short"}, {.name = "early"}, {.name = "odd"}};

static void spin(int64_t ns)
{
    for (int64_t end = now_ns() + ns; now_ns() < end;)
        ;
}

static void note(size_t i, int came_to, int too_early)
{
    counts[FIRST_CALL + 2 * i].n++;
    counts[FIRST_CALL + 2 * i + 1].n += came_to != RIGHT || too_early;
    counts[INTERRUPTED].n += came_to == EINTR;
    counts[CUT].n += came_to == SHORT;
    counts[EARLY].n += came_to == RIGHT && too_early;
    counts[OTHER].n += came_to != RIGHT && came_to != EINTR && came_to != SHORT;
}

static void *call_main(void *arg)
{
    struct call *c = arg;
    size_t i = (size_t)(c - calls);
    unsigned seed = (unsigned)i;
    for (;;) {
        struct timespec timeout = {.tv_nsec = 500000 + rand_r(&seed) % 1500000};
        spin(rand_r(&seed) % 100000);
        int64_t start_ns = now_ns();
        int came_to = c->once(c, timeout);
        int64_t least_ns = timeout.tv_nsec < SOCKET_TIMEOUT_US * 1000L ? timeout.tv_nsec
                                                                       : SOCKET_TIMEOUT_US * 1000L;
        note(i, came_to, c->is_exact && now_ns() - start_ns < least_ns);
    }
    return NULL;
}

/* Ends the waits that end by an event. */
static void feed(struct call *c)
{
    static const char byte;
    char bytes[BYTES];
    const uint64_t one = 1;
    const struct sembuf up = {.sem_op = 1};
    if (c->once == do_epoll_fed)
        (void)!write(c->fds[1], &one, sizeof one);
    else if (c->once == do_recv_fed)
        (void)!send(c->fds[1], &byte, 1, MSG_DONTWAIT);
    else if (c->once == do_semop_fed)
        (void)semop(c->fds[0], (struct sembuf *)&up, 1);
    else if (c->once == do_pipe_read_fed)
        (void)!write(c->fds[1], &byte, 1);
    else if (c->once == do_pipe_write)
        (void)!read(c->fds[0], bytes, sizeof bytes);
}

static void *feeder_main(void *unused)
{
    (void)unused;
    for (;;) {
        (void)usleep(1000);
        for (size_t i = 0; i < N_CALLS; i++)
            feed(&calls[i]);
    }
    return NULL;
}

int main(void)
{
    static char bad_names[N_CALLS][32];
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < N_CALLS; i++) {
        counts[FIRST_CALL + 2 * i].name = calls[i].name;
        counts[FIRST_CALL + 2 * i + 1].name = strcat(strcpy(bad_names[i], calls[i].name), ".bad");
        if (calls[i].prepare)
            calls[i].prepare(&calls[i]);
    }
    for (size_t i = 0; i < N_CALLS; i++)
        start_thread(call_main, &calls[i], calls[i].name);
    start_thread(feeder_main, NULL, "feeder");
    answer(counts);
    for (size_t i = 0; i < N_CALLS; i++)
        if (calls[i].prepare == make_semaphore)
            (void)semctl(calls[i].fds[0], 0, IPC_RMID);
    _exit(0);
}
