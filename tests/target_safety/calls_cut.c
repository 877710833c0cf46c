/* Calls that a stop may cut short, or undo: what came to be done cannot be repaired. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls.h"
#include "counts.h"

enum {
    WRITTEN = 128 << 10,
    SENT = 4 << 20,
    RECEIVED = 64, /* half of it at a time */
    RANDOM = 4 << 20,
    ALLOCATED = 64 << 20,
};

static char bytes[SENT];

/* ---- the other ends ---- */

static void drain(struct call *c)
{
    static char sink[WRITTEN];
    while (read(c->fds[0], sink, sizeof sink) == (ssize_t)sizeof sink)
        ;
}

static void make_drained_pipe(struct call *c)
{
    must(pipe(c->fds), "pipe");
    must(fcntl(c->fds[0], F_SETFL, O_NONBLOCK), "O_NONBLOCK");
}

static void make_drained_sockets(struct call *c)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, c->fds), "socketpair");
    must(fcntl(c->fds[0], F_SETFL, O_NONBLOCK), "O_NONBLOCK");
}

static void make_fed_sockets(struct call *c)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, c->fds), "socketpair");
}

static void feed_half(struct call *c)
{
    (void)send(c->fds[1], bytes, RECEIVED / 2, MSG_DONTWAIT);
}

/* ---- the calls ---- */

static int do_write(struct call *c, struct timespec t)
{
    (void)t;
    return moved(write(c->fds[1], bytes, WRITTEN), WRITTEN);
}

static int do_writev(struct call *c, struct timespec t)
{
    (void)t;
    struct iovec spans[2] = {{bytes, WRITTEN / 2}, {bytes, WRITTEN / 2}};
    return moved(writev(c->fds[1], spans, 2), WRITTEN);
}

static int do_send(struct call *c, struct timespec t)
{
    (void)t;
    return moved(send(c->fds[1], bytes, SENT, 0), SENT);
}

static int do_recv_all(struct call *c, struct timespec t)
{
    (void)t;
    char all[RECEIVED];
    return moved(recv(c->fds[0], all, sizeof all, MSG_WAITALL), RECEIVED);
}

static int do_getrandom(struct call *c, struct timespec t)
{
    (void)nanosleep(&t, NULL);
    if (!c->memory)
        c->memory = malloc(RANDOM);
    return moved(getrandom(c->memory, RANDOM, 0), RANDOM);
}

static void make_memory_file(struct call *c)
{
    c->fds[0] = memfd_create("calls", MFD_CLOEXEC);
    must(c->fds[0], "memfd_create");
}

/* On tmpfs, which takes back all that it has done when it is interrupted. */
static int do_fallocate(struct call *c, struct timespec t)
{
    (void)nanosleep(&t, NULL);
    int r = fallocate(c->fds[0], 0, 0, ALLOCATED);
    int ret = r == 0 ? RIGHT : errno;
    must(ftruncate(c->fds[0], 0), "ftruncate");
    return ret;
}

struct call cut_calls[MAX_CALLS] = {
    {.name = "pipe_write", .prepare = make_drained_pipe, .once = do_write, .feed = drain},
    {.name = "pipe_writev", .prepare = make_drained_pipe, .once = do_writev, .feed = drain},
    {.name = "send_large", .prepare = make_drained_sockets, .once = do_send, .feed = drain},
    {.name = "recv_all", .prepare = make_fed_sockets, .once = do_recv_all, .feed = feed_half},
    {.name = "getrandom", .once = do_getrandom, .feed = feed_nothing},
    {.name = "fallocate", .prepare = make_memory_file, .once = do_fallocate, .feed = feed_nothing},
    {0},
};
