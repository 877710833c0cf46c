/* Calls that return EINTR after a stop, which whoever stops must repair. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "calls.h"
#include "counts.h"

/* ---- epoll ---- */

static void make_epoll(struct call *c)
{
    c->fds[0] = epoll_create1(0);
    c->fds[1] = eventfd(0, EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    must(epoll_ctl(c->fds[0], EPOLL_CTL_ADD, c->fds[1], &event), "epoll_ctl");
}

static int do_epoll_wait(struct call *c, struct timespec t)
{
    struct epoll_event event;
    return timed_out(epoll_wait(c->fds[0], &event, 1, milliseconds(t)), 0);
}

static int do_epoll_pwait(struct call *c, struct timespec t)
{
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    return timed_out(epoll_pwait(c->fds[0], &event, 1, milliseconds(t), &none), 0);
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
    int r = epoll_wait(c->fds[0], &event, 1, -1);
    (void)!read(c->fds[1], &n, sizeof n);
    return moved(r, 1);
}

/* ---- sockets with time-outs ---- */

/* They count ticks of the clock, which may be behind when the count begins: 39.97 ms of 40 were
 * seen with nobody watching. */
enum { TICK_NS = 10000000 };

static struct timeval socket_timeout(struct call *c)
{
    c->own_wait_ns = socket_wait_ns;
    return (struct timeval){.tv_usec = socket_wait_ns / 1000};
}

static void make_silent_socket(struct call *c)
{
    struct timeval wait = socket_timeout(c);
    make_sockets(c);
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), "SO_RCVTIMEO");
}

static void make_full_socket(struct call *c)
{
    static const char bytes[CALL_BYTES];
    struct timeval wait = socket_timeout(c);
    make_sockets(c);
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait), "SO_SNDTIMEO");
    while (send(c->fds[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

static void make_listener(struct call *c)
{
    struct timeval wait = socket_timeout(c);
    c->fds[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* the kernel chooses an abstract one */
    must(bind(c->fds[0], (struct sockaddr *)&name, sizeof(sa_family_t)), "bind");
    must(listen(c->fds[0], 0), "listen");
    must(setsockopt(c->fds[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), "accept");
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

static int do_recv(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    return timed_out(recv(c->fds[0], &byte, 1, 0), EAGAIN);
}

static int do_recvmsg(struct call *c, struct timespec t)
{
    (void)t;
    char byte;
    struct iovec span = {&byte, 1};
    struct msghdr message = {.msg_iov = &span, .msg_iovlen = 1};
    return timed_out(recvmsg(c->fds[0], &message, 0), EAGAIN);
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

static int do_write_socket(struct call *c, struct timespec t)
{
    (void)t;
    return timed_out(write(c->fds[0], c, 1), EAGAIN);
}

static int do_accept(struct call *c, struct timespec t)
{
    (void)t;
    return timed_out(accept(c->fds[0], NULL, NULL), EAGAIN);
}

static int do_connect(struct call *c, struct timespec t)
{
    (void)t;
    struct timeval wait = socket_timeout(c);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    int ret = timed_out(connect_to(c->fds[0], client), EAGAIN);
    (void)close(client);
    return ret;
}

/* ---- signals, semaphores, aio ---- */

static int do_sigtimedwait(struct call *c, struct timespec t)
{
    (void)c;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return timed_out(sigtimedwait(&set, NULL, &t), EAGAIN);
}

static int do_sigwaitinfo(struct call *c, struct timespec t)
{
    (void)c;
    (void)t;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return moved(sigwaitinfo(&set, NULL), SIGUSR1);
}

static void make_semaphore(struct call *c)
{
    c->fds[0] = semget(IPC_PRIVATE, 1, 0600);
    must(c->fds[0], "semget");
}

static void free_semaphore(struct call *c)
{
    (void)semctl(c->fds[0], 0, IPC_RMID);
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

static void feed_semaphore(struct call *c)
{
    struct sembuf up = {.sem_op = 1};
    (void)semop(c->fds[0], &up, 1);
}

static void make_aio(struct call *c)
{
    must(syscall(SYS_io_setup, 1, &c->context), "io_setup");
}

static int do_io_getevents(struct call *c, struct timespec t)
{
    struct io_event event;
    return timed_out(syscall(SYS_io_getevents, c->context, 1, 1, &event, &t), 0);
}

/* ---- io_uring ---- */

struct ring {
    struct io_uring_params params;
    char *queues; /* both, IORING_FEAT_SINGLE_MMAP */
    struct io_uring_sqe *entries;
};

static atomic_uint *at(const struct ring *r, unsigned offset)
{
    return (atomic_uint *)(void *)(r->queues + offset);
}

static void make_ring(struct call *c)
{
    struct ring *r = calloc(1, sizeof *r);
    c->memory = r;
    c->fds[0] = (int)syscall(SYS_io_uring_setup, 4, &r->params);
    if (c->fds[0] < 0)
        return; /* not available everywhere: nothing is tried */
    size_t bytes = r->params.cq_off.cqes + r->params.cq_entries * sizeof(struct io_uring_cqe);
    r->queues =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fds[0], IORING_OFF_SQ_RING);
    r->entries = mmap(NULL, 4 * sizeof *r->entries, PROT_READ | PROT_WRITE, MAP_SHARED, c->fds[0],
                      IORING_OFF_SQES);
    if (r->queues == MAP_FAILED || (void *)r->entries == MAP_FAILED)
        fail("mmap");
}

static long enter(struct call *c, unsigned submit, unsigned flags, const void *arg, size_t len)
{
    unsigned wait = submit ? 0 : 1;
    return syscall(SYS_io_uring_enter, c->fds[0], submit, wait, flags, arg, len);
}

/* Waits for a timer of the ring's own. */
static int do_uring(struct call *c, struct timespec t)
{
    struct ring *r = c->memory;
    if (c->fds[0] < 0)
        return nanosleep(&t, NULL);
    struct __kernel_timespec timer = {.tv_nsec = t.tv_nsec};
    unsigned tail = atomic_load(at(r, r->params.sq_off.tail));
    r->entries[0] =
        (struct io_uring_sqe){.opcode = IORING_OP_TIMEOUT, .addr = (uintptr_t)&timer, .len = 1};
    at(r, r->params.sq_off.array)[tail & (r->params.sq_entries - 1)] = 0;
    atomic_store(at(r, r->params.sq_off.tail), tail + 1);
    if (enter(c, 1, 0, NULL, 0) != 1)
        return ODD;
    int ret = timed_out(enter(c, 0, IORING_ENTER_GETEVENTS, NULL, 0), 0);
    unsigned head = atomic_load(at(r, r->params.cq_off.head));
    if (ret == EINTR) /* so that TIMER may go */
        (void)enter(c, 0, IORING_ENTER_GETEVENTS, NULL, 0);
    else if (ret == RIGHT && atomic_load(at(r, r->params.cq_off.tail)) == head)
        return ODD;
    atomic_store(at(r, r->params.cq_off.head), head + 1);
    return ret;
}

/* Nothing is submitted: only its own time-out ends the wait. */
static int do_uring_timeout(struct call *c, struct timespec t)
{
    struct __kernel_timespec timer = {.tv_nsec = t.tv_nsec};
    struct io_uring_getevents_arg arg = {.ts = (uintptr_t)&timer};
    if (c->fds[0] < 0)
        return nanosleep(&t, NULL);
    unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    return timed_out(enter(c, 0, flags, &arg, sizeof arg), ETIME);
}

struct call repaired_calls[MAX_CALLS] = {
    {.name = "epoll_wait", .prepare = make_epoll, .once = do_epoll_wait, .is_exact = 1},
    {.name = "epoll_pwait", .prepare = make_epoll, .once = do_epoll_pwait, .is_exact = 1},
    {.name = "epoll_pwait2", .prepare = make_epoll, .once = do_epoll_pwait2, .is_exact = 1},
    {.name = "epoll_fed", .prepare = make_epoll, .once = do_epoll_fed, .feed = feed_eventfd},
    {.name = "recv",
     .prepare = make_silent_socket,
     .once = do_recv,
     .is_exact = 1,
     .early_ns = TICK_NS},
    {.name = "recvmsg",
     .prepare = make_silent_socket,
     .once = do_recvmsg,
     .is_exact = 1,
     .early_ns = TICK_NS},
    {.name = "read_socket",
     .prepare = make_silent_socket,
     .once = do_read_socket,
     .is_exact = 1,
     .early_ns = TICK_NS},
    {.name = "recv_fed", .prepare = make_sockets, .once = do_recv_fed, .feed = feed_byte},
    {.name = "send", .prepare = make_full_socket, .once = do_send},
    {.name = "write_socket", .prepare = make_full_socket, .once = do_write_socket},
    {.name = "accept", .prepare = make_listener, .once = do_accept},
    {.name = "connect", .prepare = make_busy_listener, .once = do_connect},
    {.name = "sigtimedwait", .once = do_sigtimedwait, .is_exact = 1},
    {.name = "sigwaitinfo", .once = do_sigwaitinfo, .feed = feed_signal},
    {.name = "semtimedop",
     .prepare = make_semaphore,
     .once = do_semtimedop,
     .release = free_semaphore,
     .is_exact = 1},
    {.name = "semop_fed",
     .prepare = make_semaphore,
     .once = do_semop_fed,
     .feed = feed_semaphore,
     .release = free_semaphore},
    {.name = "io_getevents", .prepare = make_aio, .once = do_io_getevents, .is_exact = 1},
    {.name = "io_uring_enter", .prepare = make_ring, .once = do_uring, .is_exact = 1},
    {.name = "io_uring_timeout", .prepare = make_ring, .once = do_uring_timeout, .is_exact = 1},
    {0},
};
