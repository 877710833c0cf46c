/* The descriptors of epoll, poll and select.  The arrays lie in the target's memory, and stay as
 * they are for as long as the call lasts; an epoll's list is in its fdinfo.
 * Source: poll(2), select(2), epoll_wait(2), proc_pid_fdinfo(5). */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "target/proc.h"
#include "waits/peer_find.h"
#include "waits/peer_socket.h"
#include "waits/time_out.h"

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
    size_t all;   /* with those for which there was no room */
    bool cut;     /* and there are more than that */
    uint64_t key; /* of an epoll: descriptor_epoll_key() */
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
    /* One without these two waits for nothing: it was taken once (EPOLLONESHOT), and is not armed
     * again (fs/eventpoll.c, ep_send_events(), do_epoll_ctl()). */
    for (size_t i = 0; i < n && i < MOST_WATCHED; i++)
        if (items[i].events & (EPOLLERR | EPOLLHUP))
            add_watched(ret, items[i].fd, items[i].inode, items[i].events & EPOLLIN,
                        items[i].events & EPOLLOUT);
    if (n > MOST_WATCHED)
        ret->all += n - MOST_WATCHED;
    ret->cut = len == FDINFO_BYTES - 1;
    ret->key = len >= 0 && !ret->cut ? descriptor_epoll_key(info) : 0;
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

static bool read_watched(const struct peer_wait *w, struct watch_list *ret)
{
    if (syscall_polls(w->number))
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
    struct blocker of;
    bool received; /* there are bytes to read */
    bool queues;   /* the number of bytes to read is known */
};
struct event_groups {
    struct event_group items[MOST_GROUPS];
    size_t n;
    size_t peers; /* looked for so far */
    bool later;
    size_t others;           /* descriptors that are known, and by which it does not wake itself */
    struct peer_answer user; /* who has the other end of the last of these, if it is a process */
    /* The last connection, whether there only is room to write waited for, and its group. */
    struct net_socket connection;
    bool sends;
    struct event_group *connected;
};

static bool are_alike(const struct event_group *a, const struct event_group *b)
{
    struct blocker x = a->of;
    struct blocker y = b->of;
    x.n = y.n = 0;
    return a->kind == b->kind && memcmp(&x, &y, sizeof x) == 0;
}

static struct event_group *add_to_group(struct event_groups *all, const struct event_group *g)
{
    size_t i = 0;
    while (i < all->n && !are_alike(&all->items[i], g))
        i++;
    if (i == MOST_GROUPS || i < all->n) {
        struct event_group *same = &all->items[i < all->n ? i : MOST_GROUPS - 1];
        same->of.n++;
        same->received |= g->received;
        same->of.pid = same->of.pid == g->of.pid ? g->of.pid : 0;
        return same;
    }
    all->items[all->n] = *g;
    all->items[all->n].of.n = 1;
    return &all->items[all->n++];
}

static void describe_net(struct peer_looks *l, const struct peer_wait *w,
                         const struct net_socket *s, bool sends, struct event_group *g)
{
    g->of = peer_of_socket(l, s, sends, w->over ? INT64_MAX : w->since_ns);
    g->of.thing = THING_SOCKET;
    g->of.bytes = 0;
    g->kind = g->of.kind == BLOCKER_CLIENT ? EVENT_CLIENT : EVENT_CONNECTION;
    if (s->udp)
        g->kind = EVENT_SOCKET;
    else if (g->of.kind == BLOCKER_LISTENER)
        g->kind = EVENT_LISTENING;
    if (g->kind == EVENT_CLIENT) { /* all of one port are alike */
        g->of.host = (string_id){0};
        g->of.port = 0;
    }
    g->queues = g->of.queue == QUEUE_NOTHING_RECEIVED || g->of.queue == QUEUE_NOT_ALL_READ;
    g->received = g->of.queue == QUEUE_NOT_ALL_READ;
    if (g->of.queue != QUEUE_NOT_CONNECTED)
        g->of.queue = QUEUE_UNTOLD;
}

/* The process at the other end of the only connection: of many each has its own, as those of
 * postgres, and they would not be alike. */
static void add_process(struct peer_looks *l, const struct peer_wait *w, struct event_groups *all)
{
    struct peer_wait one = *w;
    struct blocker *of = &all->connected->of;
    all->user = (struct peer_answer){.later = false};
    one.flow = all->sends ? FLOW_OUT : FLOW_IN;
    peer_answer_socket(l, &one, &all->connection, &all->user);
    /* Else a search comes later than most polls end. */
    all->later |= all->user.later && (l->is_dump || w->over);
    of->pid = all->user.side.blocker.pid;
    of->name = all->user.side.blocker.name;
    of->fate = all->user.side.blocker.fate;
}

/* A pipe or a unix socket.  A process that wakes itself has both ends. */
static void describe_peer(const struct peer_wait *w, const struct wait_side *side,
                          struct event_group *g)
{
    const struct blocker *b = &side->blocker;
    bool pipe = side->thing == THING_PIPE;
    g->of = (struct blocker){.thing = pipe ? THING_PIPE : THING_SOCKET};
    g->kind = pipe ? EVENT_PIPE : EVENT_SOCKET;
    if (b->kind == BLOCKER_LISTENER) {
        g->kind = EVENT_LISTENING;
        g->of = *b;
        g->of.thing = THING_SOCKET;
    } else if (b->kind == BLOCKER_PROCESS && b->pid == w->pid) {
        g->kind = EVENT_INNER;
        g->of.kind = BLOCKER_ITSELF;
    } else if (b->kind == BLOCKER_PROCESS) {
        g->of.kind = b->kind;
        g->of.pid = b->pid;
        g->of.name = b->name;
        g->of.fate = b->fate;
    } else if (b->host.ix) {
        g->of.kind = BLOCKER_PEER;
        g->of.net = b->net;
        g->of.host = b->host;
    }
}

/* False: not known before a look. */
static bool describe_with_peer(struct peer_looks *l, const struct peer_wait *w,
                               const struct watched *fd, const char *link, struct event_groups *all,
                               struct event_group *g)
{
    struct peer_answer answer = {0};
    struct peer_wait one = *w;
    one.fd = fd->fd;
    one.flow = fd->sends ? FLOW_OUT : FLOW_IN;
    (void)snprintf(one.link, sizeof one.link, "%s", link);
    peer_find_stream(l, &one, &answer);
    if (!answer.later)
        describe_peer(w, &answer.side, g);
    if (g->kind != EVENT_INNER)
        all->user = answer;
    return !answer.later;
}

static void describe_pidfd(struct peer_looks *l, const struct peer_wait *w, uint64_t fd,
                           struct event_group *g)
{
    char info[PROC_TEXT_BYTES];
    pid_t pid =
        descriptor_read_info(w->pid, fd, info, sizeof info) < 0 ? 0 : descriptor_pidfd(info);
    g->kind = EVENT_CHILD;
    if (pid)
        (void)peer_set_process(l, pid, NULL, &g->of);
    g->of.thing = THING_CHILD;
    g->of.tid = 0;
}

static void describe_other(struct peer_looks *l, enum descriptor_kind kind, const char *link,
                           struct event_group *g)
{
    static const enum wait_thing things[] = {
        [DESCRIPTOR_OTHER] = THING_DESCRIPTOR, [DESCRIPTOR_FILE] = THING_FILE,
        [DESCRIPTOR_PIPE] = THING_PIPE,        [DESCRIPTOR_SOCKET] = THING_SOCKET,
        [DESCRIPTOR_EPOLL] = THING_EPOLL,      [DESCRIPTOR_EVENTFD] = THING_EVENTFD,
        [DESCRIPTOR_TIMERFD] = THING_TIMER,    [DESCRIPTOR_SIGNALFD] = THING_SIGNALS,
        [DESCRIPTOR_INOTIFY] = THING_INOTIFY,  [DESCRIPTOR_PIDFD] = THING_CHILD,
    };
    struct text path = {0};
    g->of.thing = things[kind];
    g->kind = kind == DESCRIPTOR_EVENTFD ? EVENT_INNER : EVENT_OTHER;
    g->of.kind = kind == DESCRIPTOR_EVENTFD ? BLOCKER_ITSELF : BLOCKER_UNKNOWN;
    if (kind != DESCRIPTOR_FILE)
        return;
    text_add(&path, "");
    text_add_tame(&path, link, strlen(link));
    g->of.name = profile_string(l->profile, path.s);
    text_release(&path);
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
    bool known = true;
    enum net_known net = NET_NO_SOCKET;
    if (kind == DESCRIPTOR_SOCKET)
        net = net_look_find(&l->net, w->pid, inode, &socket);
    if (net == NET_UNKNOWN) {
        all->later = true;
        return;
    }
    bool peers = kind == DESCRIPTOR_PIPE || kind == DESCRIPTOR_SOCKET;
    if (net == NET_KNOWN)
        describe_net(l, w, &socket, fd->sends, &g);
    else if (peers && all->peers++ < MOST_PEERS)
        known = describe_with_peer(l, w, fd, link, all, &g);
    else if (kind == DESCRIPTOR_PIDFD)
        describe_pidfd(l, w, fd->fd, &g);
    else
        describe_other(l, kind, link, &g);
    all->later |= !known;
    all->others += known && g.kind != EVENT_INNER;
    struct event_group *group = add_to_group(all, &g);
    if (net != NET_KNOWN || g.kind != EVENT_CONNECTION)
        return;
    all->connected = group;
    all->connection = socket;
    all->sends = fd->sends;
}

/* ---- the answer ---- */

static void add_name(const struct profile *p, const struct blocker *b, struct text *out)
{
    text_addf(out, "%s:%u:%u %d %s", profile_text(p, b->host), b->port, b->local_port, b->pid,
              profile_text(p, b->name));
}

static int by_kind(const void *a, const void *b, void *ctx)
{
    const struct event_group *x = a;
    const struct event_group *y = b;
    struct text name[2] = {{0}};
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->of.n != y->of.n)
        return x->of.n > y->of.n ? -1 : 1;
    add_name(ctx, &x->of, &name[0]);
    add_name(ctx, &y->of, &name[1]);
    int order = strcmp(name[0].s, name[1].s);
    text_release(&name[0]);
    text_release(&name[1]);
    return order ? order : (int)x->of.thing - (int)y->of.thing;
}

static struct blocker blocker_of(const struct event_group *g)
{
    struct blocker of = g->of;
    if (g->queues)
        of.queue = g->received ? QUEUE_NOT_ALL_READ : QUEUE_NOTHING_RECEIVED;
    return of;
}

static void answer(struct peer_looks *l, struct event_groups *all, const struct watch_list *list,
                   struct wait_side *ret)
{
    size_t named[MOST_NAMED];
    size_t n = 0;
    size_t left = list->all - list->n;
    qsort_r(all->items, all->n, sizeof *all->items, by_kind, l->profile);
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].kind == EVENT_INNER && i)
            continue;
        if (n < MOST_NAMED)
            named[n++] = i;
        else
            left += all->items[i].of.n;
    }
    while (n-- > 0) {
        const struct blocker of = blocker_of(&all->items[named[n]]);
        ret->list = profile_list_blocker(l->profile, &of, ret->list);
    }
    ret->more = (uint32_t)left;
    ret->at_least = list->cut;
}

/* The next scan forgets the users that were found by this one: they are looked for again, together
 * with those that are not known yet. */
static void want_again(struct peer_looks *l)
{
    for (size_t i = 0; i < l->n_asked; i++)
        fd_scan_want(&l->scan, l->asked[i]);
}

/* All that could end the wait is one process's. */
static void find_holder(struct peer_looks *l, const struct event_groups *all,
                        const struct watch_list *list, struct wait_side *ret)
{
    size_t n = 0;
    pid_t pid = all->items[0].of.pid;
    for (size_t i = 0; i < all->n && all->items[i].of.pid == pid; i++)
        n += all->items[i].of.n;
    if (n && n == list->all && pid)
        (void)peer_set_process(l, pid, NULL, &ret->blocker);
}

static bool is_single(const struct event_groups *all, const struct watch_list *list)
{
    const struct event_group *g = &all->items[0];
    bool stream = g->kind == EVENT_CONNECTION || g->kind == EVENT_CHILD || g->kind == EVENT_PIPE;
    return list->all == 1 && !list->cut && (stream || (g->kind == EVENT_SOCKET && g->of.pid));
}

/* Will it be seen that these are no longer what ends such a wait?  Processes pass their ends on: of
 * one it is seen. */
static bool can_be_checked(const struct event_groups *all)
{
    bool one = all->others == 1 && all->user.pid;
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].of.pid && !one)
            return false;
    return true;
}

void peer_find_events(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    struct watch_list *list = xcalloc(1, sizeof *list);
    struct event_groups *all = xcalloc(1, sizeof *all);
    l->n_asked = 0;
    if (read_watched(w, list))
        for (size_t i = 0; i < list->n; i++)
            add_descriptor(l, w, &list->items[i], all);
    if (all->connected && all->others == 1 && list->all == list->n)
        add_process(l, w, all);
    ret->later = all->later;
    if (ret->later)
        want_again(l);
    if (!ret->later && all->n) {
        ret->side.thing = THING_EVENTS;
        ret->side.timed = time_out_is_given(w->number, w->args);
        ret->side.single = is_single(all, list);
        answer(l, all, list, &ret->side);
        find_holder(l, all, list, &ret->side);
        ret->list = can_be_checked(all) ? list->key : 0;
        ret->pid = all->others == 1 ? all->user.pid : 0;
        ret->fd = all->user.fd;
        ret->link = all->user.link;
    }
    free(all);
    free(list);
}
