#include "cli/ctl_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/ctl_folder.h"

enum {
    CLIENTS = 8,
    BACKLOG = 16,
    LISTENER = CLIENTS, /* what epoll says of it */
    DEADLINE_MS = 1000,
};

enum client_state {
    CLIENT_NONE,
    CLIENT_ASKS,
    CLIENT_WAITS, /* for its answer, without a deadline */
    CLIENT_TAKES, /* its answer */
};
struct client {
    enum client_state state;
    int fd;
    uint64_t id;
    int64_t deadline_ns;
    char line[CTL_LINE_BYTES];
    size_t n;
    struct text out;
    size_t sent;
};
struct ctl_server {
    int folder, listener, epoll;
    pid_t pid; /* the socket is called so; another process may go on with the recording */
    uint64_t last_id;
    int64_t deaf_until_ns; /* no client is taken; 0: any is */
    struct client clients[CLIENTS];
};

/* ---- the socket ---- */

/* Nobody who lists sockets may find this one before it listens, and take it for a dead one. */
static int listen_in(int folder, pid_t pid, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[CTL_PATH_BYTES];
    ctl_socket_path(folder, pid, name);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%d.new", folder,
                   pid);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(err, -errno, "no socket: %s", strerror(errno));
    (void)unlink(address.sun_path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, BACKLOG) == 0 && rename(address.sun_path, name) == 0)
        return fd;
    int error = err_set(err, -errno, "no socket in its folder: %s", strerror(errno));
    (void)unlink(address.sun_path);
    close(fd);
    return error;
}

/* In the first folder where that can be. */
static int open_listener(struct ctl_server *s, struct err *err)
{
    struct ctl_folders folders;
    int listener = -ENOENT;
    ctl_folders_init(&folders);
    for (size_t i = 0; i < folders.n && listener < 0; i++) {
        s->folder = ctl_folder_open(folders.paths[i], true, err);
        listener = s->folder < 0 ? s->folder : listen_in(s->folder, s->pid, err);
        if (listener < 0 && s->folder >= 0)
            close(s->folder);
    }
    ctl_folders_release(&folders);
    return listener;
}

static int watch(const struct ctl_server *s, int operation, int fd, uint32_t events, uint32_t of)
{
    struct epoll_event event = {.events = events, .data.u32 = of};
    return epoll_ctl(s->epoll, operation, fd, &event);
}

struct ctl_server *ctl_server_open(struct err *err)
{
    struct ctl_server *s = xcalloc(1, sizeof *s);
    s->pid = getpid();
    s->listener = open_listener(s, err);
    if (s->listener < 0) {
        free(s);
        return NULL;
    }
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll >= 0 && watch(s, EPOLL_CTL_ADD, s->listener, EPOLLIN, LISTENER) == 0)
        return s;
    (void)err_set(err, -errno, "no epoll: %s", strerror(errno));
    return ctl_server_free(s);
}

int ctl_server_fd(const struct ctl_server *s)
{
    return s ? s->epoll : -1;
}

/* ---- clients ---- */

/* A child of wallspy may have the descriptor, too: to close this one would not end the client's
 * reading. */
static void hang_up(int fd)
{
    (void)shutdown(fd, SHUT_RDWR);
    close(fd);
}

/* A descriptor that a child has stays in an epoll that is not told. */
static void drop(const struct ctl_server *s, struct client *c)
{
    (void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
    hang_up(c->fd);
    text_release(&c->out);
    c->state = CLIENT_NONE;
}

/* Sends what can be sent now.  Done, it hangs up. */
static void send_rest(const struct ctl_server *s, struct client *c)
{
    ssize_t n = 1;
    while (c->sent < c->out.len && n > 0) {
        n = send(c->fd, c->out.s + c->sent, c->out.len - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        c->sent += n > 0 ? (size_t)n : 0;
    }
    bool full = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (c->sent == c->out.len || !full)
        drop(s, c);
}

static void set_deadline(struct client *c)
{
    c->deadline_ns = clock_now_ns() + DEADLINE_MS * (int64_t)NS_PER_MS;
}

static void answer(const struct ctl_server *s, struct client *c, struct ctl_answer *a)
{
    text_add_bytes(&c->out, a->lines.s, a->lines.len);
    text_release(&a->lines);
    text_addf(&c->out, "%s%s\n", *a->error ? CTL_ERROR : CTL_OK, a->error);
    c->state = CLIENT_TAKES;
    set_deadline(c);
    (void)watch(s, EPOLL_CTL_MOD, c->fd, EPOLLOUT, (uint32_t)(c - s->clients));
    send_rest(s, c);
}

static void refuse(const struct ctl_server *s, struct client *c, const char *why)
{
    struct ctl_answer a = {.lines = {0}};
    (void)snprintf(a.error, sizeof a.error, "%s", why);
    answer(s, c, &a);
}

static bool may_ask(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Says why to a client for which there is no place. */
static void turn_away(int fd, const char *why)
{
    (void)send(fd, why, strlen(why), MSG_NOSIGNAL | MSG_DONTWAIT);
    hang_up(fd);
}

/* Without a descriptor for a client (EMFILE) the listener would stay readable, and wallspy wake for
 * it all the time. */
static void be_deaf(struct ctl_server *s)
{
    (void)watch(s, EPOLL_CTL_MOD, s->listener, 0, LISTENER);
    s->deaf_until_ns = clock_now_ns() + DEADLINE_MS * (int64_t)NS_PER_MS;
}

static void hear_again(struct ctl_server *s)
{
    if (!s->deaf_until_ns || clock_now_ns() < s->deaf_until_ns)
        return;
    (void)watch(s, EPOLL_CTL_MOD, s->listener, EPOLLIN, LISTENER);
    s->deaf_until_ns = 0;
}

static void take_client(struct ctl_server *s)
{
    uint32_t i = 0;
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        be_deaf(s);
        return;
    }
    while (i < CLIENTS && s->clients[i].state != CLIENT_NONE)
        i++;
    if (!may_ask(fd)) {
        turn_away(fd, CTL_ERROR "this recording is another user's\n");
    } else if (i == CLIENTS || watch(s, EPOLL_CTL_ADD, fd, EPOLLIN, i) < 0) {
        turn_away(fd, CTL_ERROR "too many ask at a time\n");
    } else {
        struct client *c = &s->clients[i];
        c->state = CLIENT_ASKS;
        c->fd = fd;
        c->id = ++s->last_id;
        c->n = c->sent = 0;
        set_deadline(c);
    }
}

static void obey(struct ctl_server *s, struct client *c, size_t len, ctl_obey *do_obey, void *ctx)
{
    struct ctl_answer a = {.lines = {0}};
    struct ctl_request request;
    const char *wrong = ctl_request_parse(&request, c->line, len);
    if (wrong) {
        refuse(s, c, wrong);
        return;
    }
    c->state = CLIENT_WAITS;
    (void)watch(s, EPOLL_CTL_MOD, c->fd, 0, (uint32_t)(c - s->clients)); /* until it hangs up */
    if (do_obey(ctx, c->id, &request, &a))
        ctl_server_answer(s, c->id, &a);
}

/* A request ends with its line, or with all that the client sends. */
static void read_request(struct ctl_server *s, struct client *c, ctl_obey *do_obey, void *ctx)
{
    ssize_t n = recv(c->fd, c->line + c->n, sizeof c->line - c->n, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 || (n == 0 && c->n == 0)) {
        drop(s, c);
        return;
    }
    c->n += (size_t)n;
    const char *end = memchr(c->line, '\n', c->n);
    size_t len = end ? (size_t)(end - c->line) : c->n;
    if (len == sizeof c->line)
        refuse(s, c, "a line of more than 4095 bytes");
    else if (end || n == 0)
        obey(s, c, len, do_obey, ctx);
}

static void drop_late(struct ctl_server *s)
{
    int64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *c = &s->clients[i];
        bool has_deadline = c->state == CLIENT_ASKS || c->state == CLIENT_TAKES;
        if (has_deadline && now_ns > c->deadline_ns)
            drop(s, c);
    }
}

void ctl_server_serve(struct ctl_server *s, ctl_obey *do_obey, void *ctx)
{
    struct epoll_event events[CLIENTS + 1];
    if (!s || s->listener < 0)
        return;
    int n = epoll_wait(s->epoll, events, CLIENTS + 1, 0);
    for (int i = 0; i < n; i++) {
        uint32_t of = events[i].data.u32;
        struct client *c = of < CLIENTS ? &s->clients[of] : NULL;
        if (!c)
            take_client(s);
        else if (c->state == CLIENT_ASKS)
            read_request(s, c, do_obey, ctx);
        else if (c->state == CLIENT_TAKES)
            send_rest(s, c);
        else if (c->state == CLIENT_WAITS && events[i].events & (EPOLLHUP | EPOLLERR))
            drop(s, c);
    }
    drop_late(s);
    hear_again(s);
}

void ctl_server_answer(struct ctl_server *s, uint64_t client, struct ctl_answer *a)
{
    for (size_t i = 0; s && i < CLIENTS; i++)
        if (s->clients[i].state == CLIENT_WAITS && s->clients[i].id == client) {
            answer(s, &s->clients[i], a);
            return;
        }
    text_release(&a->lines);
}

/* ---- the end ---- */

void ctl_server_shut(struct ctl_server *s)
{
    if (!s || s->listener < 0)
        return;
    ctl_socket_remove(s->folder, s->pid);
    (void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->listener, NULL);
    close(s->listener); /* those who wait to be taken are hung up on */
    close(s->folder);
    s->listener = s->folder = -1;
    for (size_t i = 0; i < CLIENTS; i++)
        if (s->clients[i].state == CLIENT_ASKS)
            drop(s, &s->clients[i]);
}

/* Sends what is left to those who take it. */
static void send_last(struct ctl_server *s)
{
    struct epoll_event events[CLIENTS];
    bool any = true;
    int64_t end_ns = clock_now_ns() + DEADLINE_MS * (int64_t)NS_PER_MS;
    while (any && clock_now_ns() < end_ns) {
        any = false;
        for (size_t i = 0; i < CLIENTS; i++) {
            if (s->clients[i].state == CLIENT_TAKES)
                send_rest(s, &s->clients[i]);
            any |= s->clients[i].state == CLIENT_TAKES;
        }
        if (any)
            (void)epoll_wait(s->epoll, events, CLIENTS, 10);
    }
}

struct ctl_server *ctl_server_free(struct ctl_server *s)
{
    if (!s)
        return NULL;
    ctl_server_shut(s);
    send_last(s);
    for (size_t i = 0; i < CLIENTS; i++)
        if (s->clients[i].state != CLIENT_NONE)
            drop(s, &s->clients[i]);
    if (s->epoll >= 0)
        close(s->epoll);
    free(s);
    return NULL;
}
