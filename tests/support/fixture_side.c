#include "tests/support/fixture_side.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- the keys ---- */

static const char *const holders[] = {"", "thread", "process", "gone", NULL};
static const char *const ends[] = {"",          "peer",      "listener", "client",
                                   "client-of", "udp-local", "udp-peer", NULL};
static const char *const event_kinds[] = {"",         "connection", "client",   "wake-up",
                                          "listener", "udp-local",  "udp-peer", "pipe",
                                          "socket",   "end",        "other",    NULL};

const struct field side_keys[] = {
    FIELD_WORDS(struct side_fields, holder, holders),
    FIELD(struct side_fields, pid),
    FIELD(struct side_fields, tid),
    FIELD(struct side_fields, name),
    FIELD_WORDS(struct side_fields, fate, field_fates),
    FIELD(struct side_fields, children),
    FIELD(struct side_fields, processes),
    FIELD_WORDS(struct side_fields, end, ends),
    FIELD(struct side_fields, address),
    FIELD(struct side_fields, port),
    FIELD_WORDS(struct side_fields, queue, field_queues),
    FIELD(struct side_fields, bytes),
    FIELD(struct side_fields, inode),
    FIELD(struct side_fields, offset),
    FIELD(struct side_fields, more_events),
    FIELD(struct side_fields, at_least),
};
const struct field side_process_keys[] = {
    FIELD(struct side_process, pid),
    FIELD(struct side_process, name),
};
const struct field side_event_keys[] = {
    FIELD_WORDS(struct side_event, kind, event_kinds),
    FIELD(struct side_event, n),
    FIELD(struct side_event, address),
    FIELD(struct side_event, thing),
    FIELD(struct side_event, pid),
    FIELD(struct side_event, name),
    FIELD_WORDS(struct side_event, fate, field_fates),
    FIELD(struct side_event, connecting),
    FIELD_WORDS(struct side_event, queue, field_queues),
};
const size_t n_side_keys = sizeof side_keys / sizeof *side_keys;
const size_t n_side_process_keys = sizeof side_process_keys / sizeof *side_process_keys;
const size_t n_side_event_keys = sizeof side_event_keys / sizeof *side_event_keys;

/* ---- texts ---- */

static char *copy(const struct profile *p, string_id id)
{
    return id.ix ? xstrdup(profile_text(p, id)) : NULL;
}

static string_id id_of(struct profile *p, const char *s)
{
    return s ? profile_string(p, s) : (string_id){0};
}

static char *address_of(const struct profile *p, const struct blocker *b)
{
    const char *host = profile_text(p, b->host);
    return b->net == NET_UNIX ? xasprintf("unix:%s", host) : xasprintf("%s:%u", host, b->port);
}

static void set_address(struct profile *p, const char *address, struct blocker *b)
{
    const char *port = address ? strrchr(address, ':') : NULL;
    if (!port)
        return;
    if (str_starts(address, "unix:")) {
        b->net = NET_UNIX;
        b->host = profile_string(p, address + strlen("unix:"));
        return;
    }
    b->net = b->net ? b->net : NET_TCP;
    b->host = profile_string_n(p, address, (size_t)(port - address));
    b->port = (uint32_t)strtoul(port + 1, NULL, 10);
}

/* ---- events ---- */

static const struct {
    const char *words;
    enum wait_thing thing;
} things[] = {{"a pipe", THING_PIPE},
              {"a socket", THING_SOCKET},
              {"a descriptor", THING_DESCRIPTOR},
              {"an epoll", THING_EPOLL},
              {"an eventfd", THING_EVENTFD},
              {"a timer", THING_TIMER},
              {"signals", THING_SIGNALS},
              {"inotify", THING_INOTIFY},
              {"its own pipe", THING_PIPE},
              {"its own socket", THING_SOCKET},
              {"a process", THING_CHILD}};
enum { N_THINGS = sizeof things / sizeof *things, OWN_THINGS = 8 };

static char *thing_of(const struct profile *p, const struct blocker *b)
{
    bool own = b->kind == BLOCKER_ITSELF && b->thing != THING_EVENTFD;
    if (b->thing == THING_FILE)
        return copy(p, b->name);
    for (size_t i = own ? OWN_THINGS : 0; i < N_THINGS; i++)
        if (things[i].thing == b->thing)
            return xstrdup(things[i].words);
    return NULL;
}

static enum wait_thing thing_called(const char *words)
{
    for (size_t i = 0; i < N_THINGS; i++)
        if (words && str_eq(things[i].words, words))
            return things[i].thing;
    return THING_FILE;
}

static enum side_event_kind kind_of(const struct blocker *b)
{
    if (b->kind == BLOCKER_ITSELF)
        return EVENT_WAKE_UP;
    if (b->kind == BLOCKER_CLIENT)
        return EVENT_CLIENT;
    if (b->kind == BLOCKER_LISTENER)
        return b->net == NET_UDP ? EVENT_UDP_LOCAL : EVENT_LISTENER;
    if (b->kind == BLOCKER_PEER && b->net != NET_UNIX)
        return b->net == NET_UDP ? EVENT_UDP_PEER : EVENT_CONNECTION;
    if (b->thing == THING_CHILD)
        return EVENT_END;
    if (b->kind == BLOCKER_UNKNOWN)
        return EVENT_OTHER;
    return b->thing == THING_PIPE ? EVENT_PIPE : EVENT_SOCKET;
}

static void take_event(struct side_event *ret, const struct profile *p, const struct blocker *b)
{
    ret->kind = kind_of(b);
    ret->n = b->n;
    ret->connecting = b->queue == QUEUE_NOT_CONNECTED;
    ret->queue = ret->connecting ? QUEUE_UNTOLD : b->queue;
    if (b->pid) {
        ret->pid = b->pid;
        ret->name = copy(p, b->name);
        ret->fate = b->fate;
    }
    if (b->kind == BLOCKER_PROCESS)
        return;
    if (b->kind == BLOCKER_CLIENT) {
        ret->address = xasprintf(":%u", b->local_port);
    } else if (b->host.ix) {
        ret->address = address_of(p, b);
    } else {
        ret->thing = thing_of(p, b);
    }
}

static struct blocker give_event(const struct side_event *e, struct profile *p)
{
    static const enum blocker_kind kinds[] = {
        [EVENT_CONNECTION] = BLOCKER_PEER,    [EVENT_CLIENT] = BLOCKER_CLIENT,
        [EVENT_WAKE_UP] = BLOCKER_ITSELF,     [EVENT_LISTENER] = BLOCKER_LISTENER,
        [EVENT_UDP_LOCAL] = BLOCKER_LISTENER, [EVENT_UDP_PEER] = BLOCKER_PEER,
        [EVENT_OTHER] = BLOCKER_UNKNOWN};
    struct blocker b = {.kind = BLOCKER_UNKNOWN, .thing = THING_SOCKET, .n = (uint32_t)e->n};
    if (e->kind < sizeof kinds / sizeof *kinds)
        b.kind = kinds[e->kind];
    if (e->kind == EVENT_UDP_LOCAL || e->kind == EVENT_UDP_PEER)
        b.net = NET_UDP;
    set_address(p, e->address, &b);
    if (e->kind == EVENT_CLIENT) {
        b.local_port = b.port;
        b.port = 0;
        b.host = (string_id){0};
    }
    if (e->kind == EVENT_SOCKET && e->address)
        b.kind = BLOCKER_PEER;
    if (e->kind == EVENT_PIPE || e->kind == EVENT_END)
        b.thing = e->kind == EVENT_PIPE ? THING_PIPE : THING_CHILD;
    if (e->kind == EVENT_OTHER || e->kind == EVENT_WAKE_UP)
        b.thing = thing_called(e->thing);
    if (b.thing == THING_FILE)
        b.name = id_of(p, e->thing);
    if (e->pid) {
        b.kind = e->kind == EVENT_CONNECTION ? BLOCKER_PEER : BLOCKER_PROCESS;
        b.pid = e->pid;
        b.name = id_of(p, e->name);
        b.fate = e->fate;
    }
    b.queue = e->connecting ? QUEUE_NOT_CONNECTED : e->queue;
    return b;
}

/* ---- the whole ---- */

static void take_list(struct side_fields *ret, const struct profile *p,
                      const struct wait_side *side)
{
    const struct listed_blocker *of = profile_see_blocker(p, side->list);
    for (; of; of = profile_see_blocker(p, of->next)) {
        if (side->thing == THING_EVENTS && ret->n_events < SIDE_EVENTS)
            take_event(&ret->events[ret->n_events++], p, &of->blocker);
        else if (ret->n_listed < SIDE_PROCESSES)
            ret->listed[ret->n_listed++] =
                (struct side_process){of->blocker.pid, copy(p, of->blocker.name)};
    }
}

static void take_end(struct side_fields *ret, const struct profile *p, const struct blocker *b)
{
    bool listens = b->kind == BLOCKER_LISTENER;
    ret->end = b->net == NET_UDP ? (listens ? END_UDP_LOCAL : END_UDP_PEER)
               : listens         ? END_LISTENER
                                 : END_PEER;
    if (b->kind == BLOCKER_CLIENT)
        ret->end = b->host.ix ? END_CLIENT : END_CLIENT_OF;
    ret->port = ret->end == END_CLIENT ? b->local_port : 0;
    ret->address = ret->end == END_CLIENT_OF ? xasprintf(":%u", b->local_port) : address_of(p, b);
}

void side_take(struct side_fields *ret, const struct profile *p, const struct wait *wait)
{
    const struct wait_side *side = &wait->side;
    const struct blocker *b = &side->blocker;
    *ret = (struct side_fields){.pid = b->pid, .tid = b->tid, .fate = b->fate};
    if (b->kind <= BLOCKER_GONE)
        ret->holder = b->kind;
    ret->name = copy(p, b->name);
    ret->children = b->kind == BLOCKER_CHILDREN ? b->n : 0;
    ret->processes = b->kind == BLOCKER_SEVERAL ? b->n : 0;
    ret->queue = b->queue;
    ret->bytes = b->bytes;
    ret->inode = b->inode;
    ret->offset = b->offset;
    ret->more_events = side->more;
    ret->at_least = side->at_least;
    if (b->kind == BLOCKER_PEER || b->kind == BLOCKER_CLIENT || b->kind == BLOCKER_LISTENER)
        take_end(ret, p, b);
    take_list(ret, p, side);
}

static void give_end(const struct side_fields *side, struct profile *p, struct blocker *b)
{
    static const enum blocker_kind kinds[] = {
        [END_PEER] = BLOCKER_PEER,          [END_LISTENER] = BLOCKER_LISTENER,
        [END_CLIENT] = BLOCKER_CLIENT,      [END_CLIENT_OF] = BLOCKER_CLIENT,
        [END_UDP_LOCAL] = BLOCKER_LISTENER, [END_UDP_PEER] = BLOCKER_PEER};
    b->kind = kinds[side->end];
    b->net = side->end == END_UDP_LOCAL || side->end == END_UDP_PEER ? NET_UDP : NET_NONE;
    set_address(p, side->address, b);
    b->local_port = side->port;
    if (side->end == END_CLIENT_OF) {
        b->local_port = b->port;
        b->port = 0;
        b->host = (string_id){0};
    }
}

static blocker_list give_list(const struct side_fields *side, struct profile *p)
{
    blocker_list list = {0};
    for (size_t i = side->n_listed; i-- > 0;) {
        const struct blocker one = {.kind = BLOCKER_PROCESS,
                                    .pid = side->listed[i].pid,
                                    .name = id_of(p, side->listed[i].name)};
        list = profile_list_blocker(p, &one, list);
    }
    for (size_t i = side->n_events; i-- > 0;) {
        const struct blocker one = give_event(&side->events[i], p);
        list = profile_list_blocker(p, &one, list);
    }
    return list;
}

void side_give(const struct side_fields *side, struct profile *p, struct wait *wait)
{
    struct blocker *b = &wait->side.blocker;
    *b = (struct blocker){.kind = side->holder,
                          .pid = side->pid,
                          .tid = side->tid,
                          .name = id_of(p, side->name),
                          .fate = side->fate,
                          .queue = side->queue,
                          .bytes = side->bytes,
                          .inode = side->inode,
                          .offset = side->offset};
    if (side->children || side->processes) {
        b->kind = side->children ? BLOCKER_CHILDREN : BLOCKER_SEVERAL;
        b->n = (uint32_t)(side->children ? side->children : side->processes);
    }
    if (side->inode)
        b->kind = BLOCKER_SHARED;
    if (side->end)
        give_end(side, p, b);
    wait->side.list = give_list(side, p);
    wait->side.more = (uint32_t)side->more_events;
    wait->side.at_least = side->at_least;
    /* The other end's address was the object once. */
    if (wait->side.thing == THING_SOCKET && wait->object.ix &&
        !str_eq(profile_text(p, wait->object), "socket")) {
        if (!side->end)
            set_address(p, profile_text(p, wait->object), b);
        wait->object = profile_string(p, "socket");
    }
}

void side_release(struct side_fields *side)
{
    free(side->name);
    free(side->address);
    for (size_t i = 0; i < side->n_listed; i++)
        free(side->listed[i].name);
    for (size_t i = 0; i < side->n_events; i++) {
        free(side->events[i].address);
        free(side->events[i].thing);
        free(side->events[i].name);
    }
    *side = (struct side_fields){.holder = BLOCKER_UNKNOWN};
}
