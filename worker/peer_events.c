/* The descriptors of epoll, poll and select.  The arrays lie in the target's memory, and stay as
 * they are for as long as the call lasts; an epoll's list is in its fdinfo.
 * Source: poll(2), select(2), epoll_wait(2), proc_pid_fdinfo(5). */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "target/proc.h"
#include "worker/peer_kinds.h"
#include "worker/peer_socket.h"

enum {
    MOST_WATCHED = 512,
    MOST_PEERS = 16, /* pipes and unix sockets whose other end is looked for */
    MOST_GROUPS = 32,
    MOST_NAMED = 3,
    SET_BYTES = 1024 / 8, /* glibc's FD_SETSIZE */
};

/* ---- the descriptors ---- */

struct watched {
    uint64_t fd;
    uint64_t inode; /* 0: not known */
    bool sends;     /* only room to write is waited for */
};
struct watch_list {
    struct watched items[MOST_WATCHED];
    size_t n;
    size_t all; /* with those for which there was no room */
    bool cut;   /* and there are more than that */
};

static void add_watched(struct watch_list *list, uint64_t fd, uint64_t inode, bool in, bool out)
{
    if (list->n < MOST_WATCHED)
        list->items[list->n++] = (struct watched){fd, inode, out && !in};
    list->all++;
}

static bool read_epoll(const struct peer_wait *w, struct watch_list *ret)
{
    char *info = xmalloc(FDINFO_BYTES);
    struct epoll_item *items = xcalloc(MOST_WATCHED, sizeof *items);
    ssize_t len = descriptor_read_info(w->pid, w->args[0], info, FDINFO_BYTES);
    size_t n = len >= 0 ? descriptor_epoll_items(info, items, MOST_WATCHED) : 0;
    for (size_t i = 0; i < n && i < MOST_WATCHED; i++)
        add_watched(ret, items[i].fd, items[i].inode, items[i].events & EPOLLIN,
                    items[i].events & EPOLLOUT);
    ret->all = n;
    ret->cut = len == FDINFO_BYTES - 1;
    free(items);
    free(info);
    return len >= 0;
}

static bool read_poll(const struct peer_wait *w, struct watch_list *ret)
{
    struct pollfd fds[MOST_WATCHED];
    uint64_t n = w->args[1];
    size_t read = n < MOST_WATCHED ? (size_t)n : MOST_WATCHED;
    if (read && mem_read(w->live, w->args[0], fds, read * sizeof *fds) < 0)
        return false;
    for (size_t i = 0; i < read; i++)
        if (fds[i].fd >= 0)
            add_watched(ret, (uint64_t)fds[i].fd, 0, fds[i].events & POLLIN,
                        fds[i].events & POLLOUT);
    ret->all += (size_t)(n - read);
    return true;
}

static bool read_set(const struct peer_wait *w, uint64_t addr, size_t bytes, uint8_t *ret)
{
    memset(ret, 0, SET_BYTES);
    return !addr || mem_read(w->live, addr, ret, bytes) == 0;
}

static bool read_select(const struct peer_wait *w, struct watch_list *ret)
{
    uint8_t in[SET_BYTES];
    uint8_t out[SET_BYTES];
    uint8_t except[SET_BYTES];
    int32_t asked = (int32_t)(uint32_t)w->args[0];
    size_t all = asked < 0 ? 0 : (size_t)asked;
    size_t n = all < SET_BYTES * 8UL ? all : SET_BYTES * 8UL;
    size_t bytes = (n + 63) / 64 * 8; /* the kernel's words */
    if (!read_set(w, w->args[1], bytes, in) || !read_set(w, w->args[2], bytes, out) ||
        !read_set(w, w->args[3], bytes, except))
        return false;
    for (size_t fd = 0; fd < n; fd++) {
        bool reads = in[fd / 8] >> fd % 8 & 1;
        bool writes = out[fd / 8] >> fd % 8 & 1;
        if (reads || writes || except[fd / 8] >> fd % 8 & 1)
            add_watched(ret, fd, 0, reads, writes);
    }
    ret->all += all - n; /* any of these may be meant, too */
    return true;
}

static bool has_timeout(const struct peer_wait *w)
{
    switch (w->number) {
    case SYS_poll:
        return (int32_t)(uint32_t)w->args[2] >= 0;
    case SYS_ppoll:
        return w->args[2] != 0;
    case SYS_select:
    case SYS_pselect6:
        return w->args[4] != 0;
    case SYS_epoll_pwait2:
        return w->args[3] != 0;
    default:
        return (int32_t)(uint32_t)w->args[3] >= 0;
    }
}

static bool read_watched(const struct peer_wait *w, struct watch_list *ret)
{
    if (w->number == SYS_poll || w->number == SYS_ppoll)
        return read_poll(w, ret);
    if (w->number == SYS_select || w->number == SYS_pselect6)
        return read_select(w, ret);
    return read_epoll(w, ret);
}

/* ---- groups of alike ones, those that say most first ---- */

enum event_kind {
    EVENT_CONNECTION,
    EVENT_CLIENT,
    EVENT_CHILD,
    EVENT_PIPE,
    EVENT_SOCKET,
    EVENT_LISTENING,
    EVENT_OTHER,
    EVENT_INNER, /* the program wakes itself by it */
};
struct event_group {
    enum event_kind kind;
    struct text text;
    size_t n;
    bool received; /* there are bytes to read */
    bool queues;   /* the number of bytes to read is known */
    pid_t pid;     /* all of them are this process's; 0: no */
};
struct event_groups {
    struct event_group items[MOST_GROUPS];
    size_t n;
    size_t peers; /* looked for so far */
    bool later;
};

/* Takes over G's text. */
static void add_to_group(struct event_groups *all, struct event_group *g)
{
    size_t i = 0;
    text_add(&g->text, "");
    while (i < all->n &&
           (all->items[i].kind != g->kind || strcmp(all->items[i].text.s, g->text.s) != 0))
        i++;
    if (i == MOST_GROUPS || i < all->n) {
        i = i < all->n ? i : MOST_GROUPS - 1;
        text_release(&g->text);
        all->items[i].n++;
        all->items[i].received |= g->received;
        all->items[i].pid = all->items[i].pid == g->pid ? g->pid : 0;
        return;
    }
    all->items[all->n] = *g;
    all->items[all->n++].n = 1;
}

static void describe_net(const struct peer_looks *l, const struct net_socket *s, bool sends,
                         struct event_group *g)
{
    bool connected = !s->udp && s->state != NET_LISTEN;
    g->kind = s->state == NET_LISTEN && !s->udp ? EVENT_LISTENING : EVENT_CONNECTION;
    if (connected && net_look_serves(&l->net, s))
        g->kind = EVENT_CLIENT;
    else if (s->udp)
        g->kind = EVENT_SOCKET;
    g->queues = l->exact && connected && !sends;
    g->received = s->rx_bytes > 0;
    peer_add_socket(l, s, &g->text);
    if (l->exact && !s->udp && s->state == NET_SYN_SENT)
        text_add(&g->text, " (not connected yet)");
}

/* A pipe or a unix socket.  A process that wakes itself has both ends. */
static void describe_peer(const struct peer_wait *w, const struct peer_answer *a,
                          struct event_group *g)
{
    bool pipe = a->thing == THING_PIPE;
    bool inner = a->holder == HOLDER_PROCESS && a->pid == w->pid;
    g->kind = inner ? EVENT_INNER : pipe ? EVENT_PIPE : EVENT_SOCKET;
    if (!a->holder && str_starts(a->what.len ? a->what.s : "", "connections to ")) {
        g->kind = EVENT_LISTENING;
        text_addf(&g->text, "listening on %s", a->what.s + strlen("connections to "));
        return;
    }
    if (inner) {
        text_add(&g->text, pipe ? "its own pipe" : "its own socket");
        return;
    }
    text_add(&g->text, pipe ? "a pipe" : "a socket");
    if (a->holder == HOLDER_PROCESS) {
        g->pid = a->pid;
        text_addf(&g->text, " to %d (%s)", a->pid, a->what.s);
    } else if (a->address.len) {
        text_addf(&g->text, " to %s", a->address.s);
    }
}

/* False: not known before a look. */
static bool describe_with_peer(struct peer_looks *l, const struct peer_wait *w,
                               const struct watched *fd, const char *link, struct event_group *g)
{
    const uint64_t args[6] = {fd->fd};
    struct peer_answer answer = {0};
    struct peer_wait one = {.pid = w->pid,
                            .own_namespace = w->own_namespace,
                            .since_ns = w->since_ns,
                            .number = fd->sends ? SYS_write : SYS_read,
                            .args = args,
                            .live = w->live};
    (void)snprintf(one.link, sizeof one.link, "%s", link);
    peer_find_stream(l, &one, &answer);
    if (!answer.later)
        describe_peer(w, &answer, g);
    bool known = !answer.later;
    peer_answer_release(&answer);
    return known;
}

static void describe_pidfd(const struct peer_wait *w, uint64_t fd, struct event_group *g)
{
    char info[PROC_TEXT_BYTES];
    char comm[TASK_COMM_BYTES];
    pid_t pid =
        descriptor_read_info(w->pid, fd, info, sizeof info) < 0 ? 0 : descriptor_pidfd(info);
    ssize_t len = pid ? proc_read_comm(pid, 0, comm) : -1;
    g->kind = EVENT_CHILD;
    text_add(&g->text, "the end of ");
    if (len < 0) {
        text_add(&g->text, "a process");
        return;
    }
    g->pid = pid;
    text_addf(&g->text, "%d (", pid);
    text_add_tame(&g->text, comm, (size_t)len);
    text_add(&g->text, ")");
}

static void describe_other(enum descriptor_kind kind, const char *link, struct event_group *g)
{
    static const char *const words[] = {
        [DESCRIPTOR_OTHER] = "a descriptor", [DESCRIPTOR_FILE] = "",
        [DESCRIPTOR_PIPE] = "a pipe",        [DESCRIPTOR_SOCKET] = "a socket",
        [DESCRIPTOR_EPOLL] = "an epoll",     [DESCRIPTOR_EVENTFD] = "an eventfd",
        [DESCRIPTOR_TIMERFD] = "a timer",    [DESCRIPTOR_SIGNALFD] = "signals",
        [DESCRIPTOR_INOTIFY] = "inotify",    [DESCRIPTOR_PIDFD] = "the end of a process",
    };
    g->kind = kind == DESCRIPTOR_EVENTFD ? EVENT_INNER : EVENT_OTHER;
    text_add(&g->text, words[kind]);
    if (kind == DESCRIPTOR_FILE)
        text_add_tame(&g->text, link, strlen(link));
}

/* A descriptor that is another file's by now is left out: the epoll still has the old one. */
static void add_descriptor(struct peer_looks *l, const struct peer_wait *w,
                           const struct watched *fd, struct event_groups *all)
{
    char link[DESCRIPTOR_LINK_BYTES];
    uint64_t inode;
    struct net_socket socket;
    struct event_group g = {0};
    descriptor_read_link(w->pid, fd->fd, link);
    enum descriptor_kind kind = descriptor_parse_link(link, &inode);
    if (!*link || (inode && fd->inode && inode != fd->inode))
        return;
    enum net_known net = NET_NO_SOCKET;
    if (kind == DESCRIPTOR_SOCKET)
        net = net_look_find(&l->net, w->pid, inode, &socket);
    if (net == NET_UNKNOWN) {
        all->later = true;
        return;
    }
    bool peers = kind == DESCRIPTOR_PIPE || kind == DESCRIPTOR_SOCKET;
    if (net == NET_KNOWN)
        describe_net(l, &socket, fd->sends, &g);
    else if (peers && all->peers++ < MOST_PEERS)
        all->later |= !describe_with_peer(l, w, fd, link, &g);
    else if (kind == DESCRIPTOR_PIDFD)
        describe_pidfd(w, fd->fd, &g);
    else
        describe_other(kind, link, &g);
    add_to_group(all, &g);
}

/* ---- words ---- */

static void add_group(const struct event_group *g, struct text *out)
{
    switch (g->kind) {
    case EVENT_CONNECTION:
        if (g->n == 1)
            text_addf(out, "a connection to %s", g->text.s);
        else
            text_addf(out, "%zu connections to %s", g->n, g->text.s);
        break;
    case EVENT_CLIENT:
        if (g->n == 1)
            text_addf(out, "a connection of a %s", g->text.s);
        else
            text_addf(out, "%zu connections of clients of %s", g->n,
                      g->text.s + strlen("client of "));
        break;
    case EVENT_INNER:
        text_addf(out, "a wake-up by %s", g->text.s);
        break;
    case EVENT_CHILD:
    case EVENT_PIPE:
    case EVENT_SOCKET:
    case EVENT_LISTENING:
    case EVENT_OTHER:
        text_add(out, g->text.s);
        if (g->n > 1)
            text_addf(out, " (%zu)", g->n);
        break;
    }
    if (g->queues)
        text_add(out, g->received ? ", not all read" : ", nothing received");
}

static int by_kind(const void *a, const void *b)
{
    const struct event_group *x = a;
    const struct event_group *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return strcmp(x->text.s, y->text.s);
}

static void answer(struct event_groups *all, const struct watch_list *list, struct peer_answer *ret)
{
    size_t named = 0;
    size_t left = list->all - list->n;
    qsort(all->items, all->n, sizeof *all->items, by_kind);
    for (size_t i = 0; i < all->n; i++) {
        const struct event_group *g = &all->items[i];
        if (g->kind == EVENT_INNER && i)
            continue;
        if (named == MOST_NAMED) {
            left += g->n;
            continue;
        }
        text_add(&ret->what, named++ ? "; " : "");
        add_group(g, &ret->what);
    }
    if (left)
        text_addf(&ret->what, "; and %s%zu more", list->cut ? "at least " : "", left);
}

/* The next scan forgets the users that were found by this one: they are looked for again, together
 * with those that are not known yet. */
static void want_again(struct peer_looks *l)
{
    for (size_t i = 0; i < l->n_asked; i++)
        fd_scan_want(&l->scan, l->asked[i]);
}

/* All that could end the wait is one process's. */
static void find_holder(const struct event_groups *all, const struct watch_list *list,
                        struct peer_answer *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n && all->items[i].pid == all->items[0].pid; i++)
        n += all->items[i].n;
    if (!n || n != list->all || !all->items[0].pid)
        return;
    ret->holder = HOLDER_PROCESS;
    ret->pid = all->items[0].pid;
}

static bool is_single(const struct event_groups *all, const struct watch_list *list)
{
    const struct event_group *g = &all->items[0];
    bool stream = g->kind == EVENT_CONNECTION || g->kind == EVENT_CHILD || g->kind == EVENT_PIPE;
    return list->all == 1 && !list->cut && (stream || (g->kind == EVENT_SOCKET && g->pid));
}

void peer_find_events(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    struct watch_list *list = xcalloc(1, sizeof *list);
    struct event_groups *all = xcalloc(1, sizeof *all);
    l->n_asked = 0;
    if (read_watched(w, list))
        for (size_t i = 0; i < list->n; i++)
            add_descriptor(l, w, &list->items[i], all);
    ret->later = all->later;
    if (ret->later)
        want_again(l);
    if (!ret->later && all->n) {
        ret->thing = THING_EVENTS;
        ret->timed = has_timeout(w);
        ret->single = is_single(all, list);
        answer(all, list, ret);
        find_holder(all, list, ret);
    }
    for (size_t i = 0; i < all->n; i++)
        text_release(&all->items[i].text);
    free(all);
    free(list);
}
