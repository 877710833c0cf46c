#include "summary/wait_text.h"

#include <string.h>

const char wait_file[] = "[off-cpu]";

bool wait_is_for_fifo(const struct profile *p, const struct wait *wait)
{
    return wait->side.thing == THING_PIPE && *profile_text(p, wait->object) == '/';
}

string_id wait_mount_point(const struct profile *p, const struct wait *wait)
{
    bool file = wait->mount.ix && !wait_is_for_fifo(p, wait);
    string_id point = file ? profile_see_mount(p, wait->mount)->point : (string_id){0};
    return str_eq(profile_text(p, point), "/") ? (string_id){0} : point;
}

/* ---- other ends ---- */

static void add_host_and_port(struct text *out, const struct profile *p, const struct blocker *b)
{
    text_addf(out, b->net == NET_UNIX ? "unix:%s" : "%s", profile_text(p, b->host));
    if (b->net != NET_UNIX)
        text_addf(out, ":%u", b->port);
}

static void add_client(struct text *out, const struct blocker *b)
{
    text_addf(out, "client of :%u", b->local_port);
}

bool wait_has_address(const struct wait *wait)
{
    const struct blocker *b = &wait->side.blocker;
    bool unix_listener = b->kind == BLOCKER_LISTENER && b->net == NET_UNIX;
    return wait->side.thing == THING_SOCKET && (b->host.ix || b->local_port) && !unix_listener;
}

/* Does UDP socket B, connected to nobody, have no address but a port that the kernel chose?  Then
 * that says nothing.  Source: ip(7), ip_local_port_range. */
static bool is_nowhere(const struct profile *p, const struct blocker *b)
{
    enum { FIRST_CHOSEN = 32768 };
    const char *host = profile_text(p, b->host);
    return b->net == NET_UDP && b->kind == BLOCKER_LISTENER && b->port >= FIRST_CHOSEN &&
           (str_eq(host, "0.0.0.0") || str_eq(host, "[::]"));
}

void wait_add_address(struct text *out, const struct profile *p, const struct wait *wait)
{
    const struct blocker *b = &wait->side.blocker;
    if (is_nowhere(p, b)) {
        text_add(out, "UDP");
        return;
    }
    if (b->kind == BLOCKER_CLIENT) {
        add_client(out, b);
        return;
    }
    if (b->net == NET_UDP)
        text_add(out, b->kind == BLOCKER_LISTENER ? "UDP on " : "UDP ");
    add_host_and_port(out, p, b);
}

/* ---- a wait ---- */

static void add_call(struct text *out, const struct profile *p, const struct wait *wait,
                     bool addressed)
{
    string_id point = wait_mount_point(p, wait);
    string_id object = point.ix ? point : wait->object;
    text_add(out, profile_text(p, wait->call));
    text_add(out, object.ix ? " " : "");
    text_add(out, wait_is_for_fifo(p, wait) ? "pipe " : "");
    if (addressed && wait_has_address(wait))
        wait_add_address(out, p, wait);
    else
        text_add(out, profile_text(p, object));
    text_add(out, " [blocked]");
}

static void add_tracer(struct text *out, const char *pid)
{
    if (*pid)
        text_addf(out, "[traced by %s]", pid);
    else
        text_add(out, "[traced]");
}

static void add_unknown(struct text *out, const char *kernel)
{
    text_add(out, "[off the CPU, cause unknown");
    text_addf(out, *kernel ? ": kernel %s]" : "]", kernel);
}

void wait_add_text(struct text *out, const struct profile *p, const struct wait *wait,
                   bool addressed)
{
    static const char *const words[] = {
        [WAIT_CPU] = "[waiting for cpu]",
        [WAIT_GIL] = "[waiting for GIL]",
        [WAIT_PAGE] = "[page fault]",
        [WAIT_STOPPED] = "[stopped]",
        [WAIT_NOT_PERMITTED] = "[not permitted]",
        [WAIT_IO_WORKER] = "[io_uring worker]",
        [WAIT_FROZEN] = "[frozen]",
    };
    if (wait->kind == WAIT_CALL)
        add_call(out, p, wait, addressed);
    else if (wait->kind == WAIT_TRACED)
        add_tracer(out, profile_text(p, wait->object));
    else if (wait->kind == WAIT_UNKNOWN)
        add_unknown(out, profile_text(p, wait->object));
    else
        text_add(out, words[wait->kind]);
}

const char *wait_terminal_read(const struct profile *p, const struct wait *stop)
{
    const char *path = profile_text(p, stop->object);
    bool terminal = str_starts(path, "/dev/tty") || str_starts(path, "/dev/pts/") ||
                    str_eq(path, "/dev/console");
    return terminal && str_eq(profile_text(p, stop->call), "read") ? path : NULL;
}

const char *wait_path_below_mount(const struct profile *p, const struct wait *wait)
{
    return wait_mount_point(p, wait).ix ? profile_text(p, wait->object) : NULL;
}

/* ---- the other side ---- */

static const char *const fates[] = {
    [FATE_GOES_ON] = "",
    [FATE_STOPPED] = ", which is stopped",
    [FATE_ENDED] = ", which has ended",
    [FATE_MAIN_ENDED] = ", whose main thread has ended",
};

/* "4711 (sleep)" */
static void add_process(struct text *out, const struct profile *p, const struct blocker *b)
{
    text_addf(out, "%d (%s)", b->pid, profile_text(p, b->name));
}

static void add_queue(struct text *out, const struct blocker *b)
{
    static const char *const words[] = {
        [QUEUE_UNTOLD] = "",
        [QUEUE_NOT_CONNECTED] = ", not connected yet",
        [QUEUE_NOTHING_RECEIVED] = ", nothing received",
        [QUEUE_NOT_ALL_READ] = ", not all read",
        [QUEUE_NOT_ALL_ACKNOWLEDGED] = ", not all acknowledged",
    };
    text_add(out, words[b->queue]);
    if (b->bytes)
        text_addf(out, " (%llu bytes wait)", (unsigned long long)b->bytes);
}

/* "2 processes", in a dump "2 processes VERB: 12 (sh), 13 itself" */
static void add_several(struct text *out, const struct profile *p, const struct wait_side *side,
                        pid_t own_pid, const char *verb, bool detailed)
{
    const struct listed_blocker *of = profile_see_blocker(p, side->list);
    uint32_t n = 0;
    text_addf(out, "%u processes%s%s", side->blocker.n, *verb ? " " : "", verb);
    for (; detailed && of; of = profile_see_blocker(p, of->next)) {
        text_add(out, n++ ? ", " : ": ");
        if (of->blocker.pid == own_pid)
            text_addf(out, "%d itself", own_pid);
        else
            add_process(out, p, &of->blocker);
    }
    if (n && n < side->blocker.n)
        text_add(out, ", …");
}

/* ---- an epoll's descriptors ---- */

static void add_thing(struct text *out, const struct profile *p, const struct blocker *b)
{
    static const char *const words[THING_KINDS] = {
        [THING_PIPE] = "a pipe",     [THING_SOCKET] = "a socket",
        [THING_CHILD] = "the end",   [THING_DESCRIPTOR] = "a descriptor",
        [THING_EPOLL] = "an epoll",  [THING_EVENTFD] = "an eventfd",
        [THING_TIMER] = "a timer",   [THING_SIGNALS] = "signals",
        [THING_INOTIFY] = "inotify",
    };
    text_add(out, b->thing == THING_FILE ? profile_text(p, b->name) : words[b->thing]);
}

static void add_connections(struct text *out, const struct profile *p, const struct blocker *b)
{
    bool client = b->kind == BLOCKER_CLIENT;
    if (b->n > 1)
        text_addf(out, "%u connections %s", b->n, client ? "of clients of " : "to ");
    else
        text_addf(out, "a connection %s", client ? "of a client of " : "to ");
    if (client)
        text_addf(out, ":%u", b->local_port);
    else
        add_host_and_port(out, p, b);
    if (b->pid) {
        text_add(out, " of ");
        add_process(out, p, b);
        text_add(out, fates[b->fate]);
    }
}

static const char listens_on[] = "listening on ";

/* All but connections, which are counted in front.  LISTENS: the words for a server's socket. */
static void add_descriptors(struct text *out, const struct profile *p, const struct blocker *b,
                            const char *listens)
{
    if (b->kind == BLOCKER_ITSELF) {
        text_add(out, "a wake-up by ");
        text_add(out, b->thing == THING_PIPE     ? "its own pipe"
                      : b->thing == THING_SOCKET ? "its own socket"
                                                 : "an eventfd");
        return;
    }
    if (b->net == NET_UDP)
        text_add(out, b->kind == BLOCKER_LISTENER ? "UDP on " : "UDP ");
    else if (b->kind == BLOCKER_LISTENER)
        text_add(out, listens);
    else
        add_thing(out, p, b);
    if (b->thing == THING_CHILD)
        text_add(out, b->kind == BLOCKER_PROCESS ? " of " : " of a process");
    else if (b->kind == BLOCKER_PROCESS || (b->kind == BLOCKER_PEER && b->net == NET_UNIX))
        text_add(out, " to ");
    if (b->kind == BLOCKER_PROCESS) {
        add_process(out, p, b);
        text_add(out, fates[b->fate]);
    } else if (b->host.ix) {
        add_host_and_port(out, p, b);
    }
    if (b->n > 1)
        text_addf(out, " (%u)", b->n);
}

static void add_event(struct text *out, const struct profile *p, const struct blocker *b,
                      const char *listens, bool detailed)
{
    if (b->net == NET_TCP && (b->kind == BLOCKER_CLIENT || b->kind == BLOCKER_PEER))
        add_connections(out, p, b);
    else
        add_descriptors(out, p, b, listens);
    if (detailed && b->queue == QUEUE_NOT_CONNECTED)
        text_add(out, " (not connected yet)");
    else if (detailed)
        add_queue(out, b);
}

/* LISTENS is of the first; the others are "listening on ". */
static void add_events(struct text *out, const struct profile *p, const struct wait_side *side,
                       const char *listens, bool detailed)
{
    const struct listed_blocker *of = profile_see_blocker(p, side->list);
    bool any = false;
    for (; of; of = profile_see_blocker(p, of->next)) {
        text_add(out, any ? "; " : "");
        add_event(out, p, &of->blocker, any ? listens_on : listens, detailed);
        any = true;
    }
    if (side->more)
        text_addf(out, "; and %s%u more", side->at_least ? "at least " : "", side->more);
}

/* ---- each kind ---- */

static void add_end(struct text *out, const struct profile *p, const struct blocker *b,
                    bool detailed)
{
    if (b->kind == BLOCKER_CLIENT && (!detailed || !b->host.ix)) {
        text_add(out, "a ");
        add_client(out, b);
    } else if (b->net == NET_UDP) {
        text_add(out, b->kind == BLOCKER_LISTENER ? "UDP on " : "UDP ");
        add_host_and_port(out, p, b);
    } else {
        text_add(out, b->kind == BLOCKER_CLIENT     ? "client "
                      : b->kind == BLOCKER_LISTENER ? "connections to "
                                                    : "");
        add_host_and_port(out, p, b);
    }
    if (detailed && b->pid) {
        text_add(out, " of ");
        add_process(out, p, b);
        text_add(out, fates[b->fate]);
    }
    if (detailed)
        add_queue(out, b);
}

bool wait_side_is_told(const struct wait_side *side)
{
    const struct blocker *b = &side->blocker;
    return side->list.ix || (b->kind && (b->kind != BLOCKER_SHARED || b->pid));
}

void wait_side_add_what(struct text *out, const struct profile *p, const struct wait_side *side,
                        bool detailed)
{
    const struct blocker *b = &side->blocker;
    if (side->thing == THING_EVENTS)
        add_events(out, p, side, listens_on, detailed);
    else if (b->kind == BLOCKER_PROCESS || b->kind == BLOCKER_SHARED)
        text_addf(out, "%s%s", profile_text(p, b->name), fates[b->fate]);
    else if (b->kind == BLOCKER_CHILDREN)
        text_addf(out, "%u children", b->n);
    else if (b->kind == BLOCKER_SEVERAL)
        add_several(out, p, side, 0, "", detailed);
    else if (b->kind == BLOCKER_PEER || b->kind == BLOCKER_CLIENT || b->kind == BLOCKER_LISTENER)
        add_end(out, p, b, detailed);
}

static void add_child(struct text *out, const struct profile *p, const struct blocker *b)
{
    if (b->kind == BLOCKER_CHILDREN) {
        text_addf(out, "any of its %u children", b->n);
    } else if (b->kind == BLOCKER_PROCESS) {
        text_add(out, "its child ");
        add_process(out, p, b);
        text_add(out, fates[b->fate]);
    } else {
        text_add(out, "a child");
    }
}

static void add_other_end(struct text *out, const struct profile *p, const struct wait_side *side,
                          pid_t own_pid, bool detailed)
{
    const struct blocker *b = &side->blocker;
    const char *of = side->thing == THING_PIPE ? "pipe" : "socket";
    if (blocker_is_process(b) && b->pid == own_pid && (b->kind == BLOCKER_PROCESS || !detailed)) {
        text_addf(out, "a %s whose other end is in the same process", of);
    } else if (b->kind == BLOCKER_PROCESS || (blocker_is_process(b) && !detailed)) {
        add_process(out, p, b);
        text_addf(out, ", which has the %s's other end", of);
        if (b->fd)
            text_addf(out, " as descriptor %llu", (unsigned long long)b->fd);
        text_add(out, b->fate == FATE_STOPPED ? " and is stopped" : "");
    } else if (b->kind == BLOCKER_SEVERAL) {
        text_addf(out, "a %s whose other end ", of);
        add_several(out, p, side, own_pid, "have", detailed);
    } else if (b->kind) {
        add_end(out, p, b, detailed);
    } else {
        text_addf(out, "a %s", of);
    }
}

static void add_file_lock(struct text *out, const struct profile *p, const struct wait_side *side,
                          bool detailed)
{
    text_add(out, "a file's lock");
    if (side->blocker.kind == BLOCKER_PROCESS) {
        text_add(out, ", held by ");
        add_process(out, p, &side->blocker);
    } else if (side->blocker.kind == BLOCKER_SEVERAL) {
        text_add(out, ", which ");
        add_several(out, p, side, 0, "share", detailed);
    }
}

/* Of a lock in memory that processes share. */
static void add_shared_lock(struct text *out, const struct profile *p, const struct wait_side *side)
{
    text_add(out, side->thing == THING_RWLOCK ? "an rwlock" : "a mutex");
    text_add(out, " that processes share");
    if (side->blocker.pid) {
        text_add(out, ", held by ");
        add_process(out, p, &side->blocker);
    }
}

void wait_side_add_text(struct text *out, const struct profile *p, const struct wait_side *side,
                        pid_t own_pid, bool detailed)
{
    if (side->thing == THING_CHILD)
        add_child(out, p, &side->blocker);
    else if (side->thing == THING_PIPE || side->thing == THING_SOCKET)
        add_other_end(out, p, side, own_pid, detailed);
    else if (side->thing == THING_FILE_LOCK)
        add_file_lock(out, p, side, detailed);
    else if (side->thing == THING_EVENTS)
        add_events(out, p, side, "new connections to ", detailed);
    else if (side->blocker.kind == BLOCKER_SHARED)
        add_shared_lock(out, p, side);
}
