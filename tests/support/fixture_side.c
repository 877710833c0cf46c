#include "tests/support/fixture_side.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- the keys ---- */

static const char *const holders[] = {"", "thread", "process", "gone", NULL};
static const char *const fates[] = {"", "stopped", "ended", "main-ended", NULL};
static const char *const ends[] = {"",          "peer",      "listener", "client",
                                   "client-of", "udp-local", "udp-peer", NULL};
static const char *const queues[] = {
    "", "not-connected", "nothing-received", "not-all-read", "not-all-acknowledged", NULL};
static const char *const event_kinds[] = {"",         "connection", "client",   "wake-up",
                                          "listener", "udp-local",  "udp-peer", "pipe",
                                          "socket",   "end",        "other",    NULL};

const struct field side_keys[] = {
    FIELD_WORDS(struct side_fields, holder, holders),
    FIELD(struct side_fields, pid),
    FIELD(struct side_fields, tid),
    FIELD(struct side_fields, name),
    FIELD_WORDS(struct side_fields, fate, fates),
    FIELD(struct side_fields, children),
    FIELD(struct side_fields, processes),
    FIELD_WORDS(struct side_fields, end, ends),
    FIELD(struct side_fields, address),
    FIELD_WORDS(struct side_fields, queue, queues),
    FIELD(struct side_fields, bytes),
    FIELD(struct side_fields, more_events),
    FIELD(struct side_fields, at_least),
    FIELD(struct side_fields, text),
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
    FIELD(struct side_event, connecting),
    FIELD_WORDS(struct side_event, queue, queues),
};
const size_t n_side_keys = sizeof side_keys / sizeof *side_keys;
const size_t n_side_process_keys = sizeof side_process_keys / sizeof *side_process_keys;
const size_t n_side_event_keys = sizeof side_event_keys / sizeof *side_event_keys;

/* ---- what words have in common ---- */

static const char *const queue_words[] = {"", ", not connected yet", ", nothing received",
                                          ", not all read", ", not all acknowledged"};
static const char *const fate_words[] = {"", ", which is stopped", ", which has ended",
                                         ", whose main thread has ended"};
static const char connecting_words[] = " (not connected yet)";

/* A piece of words: [S, END). */
struct piece {
    const char *s, *end;
};

static char *copy(struct piece p)
{
    struct text out = {0};
    text_add_bytes(&out, p.s, (size_t)(p.end - p.s));
    return out.s;
}

static bool cut_start(struct piece *p, const char *start)
{
    size_t len = strlen(start);
    if ((size_t)(p->end - p->s) < len || memcmp(p->s, start, len) != 0)
        return false;
    p->s += len;
    return true;
}

static bool cut_end(struct piece *p, const char *end)
{
    size_t len = strlen(end);
    if ((size_t)(p->end - p->s) < len || memcmp(p->end - len, end, len) != 0)
        return false;
    p->end -= len;
    return true;
}

static bool cut_number(struct piece *p, uint64_t *ret)
{
    const char *rest = parse_u64(p->s, p->end, 10, ret);
    if (!rest)
        return false;
    p->s = rest;
    return true;
}

/* The first piece of P before WORDS, which are cut off with it; P's last piece has none. */
static struct piece cut_piece(struct piece *p, const char *words)
{
    const char *at = strstr(p->s, words);
    struct piece first = {p->s, at && at < p->end ? at : p->end};
    p->s = first.end < p->end ? first.end + strlen(words) : p->end;
    return first;
}

/* "7 (sh)" */
static bool take_process(struct piece p, pid_t *ret_pid, char **ret_name)
{
    uint64_t pid;
    if (!cut_number(&p, &pid) || !cut_start(&p, " (") || !cut_end(&p, ")"))
        return false;
    *ret_pid = (pid_t)pid;
    *ret_name = copy(p);
    return true;
}

/* Cuts " (12 bytes wait)" and the words about the queue off. */
static void take_queue(struct piece *p, enum end_queue *ret, uint64_t *ret_bytes)
{
    struct piece counted = *p;
    if (cut_end(&counted, " bytes wait)")) {
        const char *at = counted.end;
        while (at > counted.s && at[-1] >= '0' && at[-1] <= '9')
            at--;
        if (at > counted.s + 2 && parse_u64(at, counted.end, 10, ret_bytes))
            p->end = at - 2; /* " (" */
    }
    for (int queue = QUEUE_NOT_CONNECTED; queue <= QUEUE_NOT_ALL_ACKNOWLEDGED; queue++)
        if (cut_end(p, queue_words[queue]))
            *ret = (enum end_queue)queue;
}

/* ---- processes ---- */

static void take_named(struct side_fields *ret, struct piece p, bool child)
{
    for (int fate = FATE_STOPPED; child && fate <= FATE_MAIN_ENDED; fate++)
        if (cut_end(&p, fate_words[fate])) {
            ret->fate = (enum process_fate)fate;
            break;
        }
    ret->name = copy(p);
}

/* "2 processes: 7 (sh), 8 (cat)" */
static bool take_several(struct side_fields *ret, struct piece p)
{
    uint64_t n;
    if (!cut_number(&p, &n) || !cut_start(&p, " processes"))
        return false;
    ret->processes = n;
    if (!cut_start(&p, ": "))
        return true;
    (void)cut_end(&p, ", …");
    while (p.s < p.end && ret->n_listed < SIDE_PROCESSES) {
        struct side_process *one = &ret->listed[ret->n_listed++];
        struct piece piece = cut_piece(&p, "), ");
        piece.end += piece.end < p.end; /* its bracket */
        (void)take_process(piece, &one->pid, &one->name);
    }
    return true;
}

static void add_several(struct text *out, const struct side_fields *side)
{
    text_addf(out, "%llu processes", (unsigned long long)side->processes);
    for (size_t i = 0; i < side->n_listed; i++)
        text_addf(out, "%s%d (%s)", i ? ", " : ": ", side->listed[i].pid,
                  side->listed[i].name ? side->listed[i].name : "");
    if (side->n_listed && side->processes > side->n_listed)
        text_add(out, ", …");
}

/* ---- the ends of a network ---- */

static const struct {
    const char *words;
    enum end_kind end;
} end_words[] = {
    {"connections to ", END_LISTENER}, {"client ", END_CLIENT}, {"a client of ", END_CLIENT_OF},
    {"UDP on ", END_UDP_LOCAL},        {"UDP ", END_UDP_PEER},  {"", END_PEER}};

static void take_end(struct side_fields *ret, struct piece p)
{
    size_t i = 0;
    take_queue(&p, &ret->queue, &ret->bytes);
    while (!cut_start(&p, end_words[i].words))
        i++;
    ret->end = end_words[i].end;
    ret->address = copy(p);
}

static void add_queue(struct text *out, enum end_queue queue, uint64_t bytes)
{
    text_add(out, queue_words[queue]);
    if (bytes)
        text_addf(out, " (%llu bytes wait)", (unsigned long long)bytes);
}

static void add_end(struct text *out, const struct side_fields *side)
{
    size_t i = 0;
    while (end_words[i].end != side->end)
        i++;
    text_addf(out, "%s%s", end_words[i].words, side->address ? side->address : "");
    add_queue(out, side->queue, side->bytes);
}

/* ---- what an epoll waits on ---- */

/* One of a kind, and several of it. */
static const struct {
    enum event_kind kind;
    const char *one, *several;
} counted_events[] = {
    {EVENT_CLIENT, "a connection of a client of ", " connections of clients of "},
    {EVENT_CONNECTION, "a connection to ", " connections to "},
};

static bool take_counted(struct side_event *ret, struct piece p)
{
    for (size_t i = 0; i < sizeof counted_events / sizeof *counted_events; i++) {
        struct piece rest = p;
        ret->n = 1;
        if (!cut_start(&rest, counted_events[i].one) &&
            !(cut_number(&rest, &ret->n) && cut_start(&rest, counted_events[i].several)))
            continue;
        ret->kind = counted_events[i].kind;
        ret->connecting = cut_end(&rest, connecting_words);
        ret->address = copy(rest);
        return true;
    }
    return false;
}

/* Cuts the " (2)" of two alike ones off. */
static uint64_t take_count(struct piece *p)
{
    uint64_t n;
    struct piece rest = *p;
    if (!cut_end(&rest, ")"))
        return 1;
    const char *at = rest.end;
    while (at > rest.s && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at == rest.end || at < rest.s + 2 || at[-1] != '(' || at[-2] != ' ' ||
        !parse_u64(at, rest.end, 10, &n))
        return 1;
    p->end = at - 2;
    return n;
}

static const struct {
    const char *words;
    enum event_kind kind;
} led_events[] = {{"listening on ", EVENT_LISTENER}, {"UDP on ", EVENT_UDP_LOCAL},
                  {"UDP ", EVENT_UDP_PEER},          {"a wake-up by ", EVENT_WAKE_UP},
                  {"a pipe to ", EVENT_PIPE},        {"a socket to ", EVENT_SOCKET},
                  {"the end of ", EVENT_END},        {"", EVENT_OTHER}};

static void take_event(struct side_event *ret, struct piece p)
{
    size_t i = 0;
    uint64_t unused = 0;
    take_queue(&p, &ret->queue, &unused);
    if (take_counted(ret, p))
        return;
    ret->n = take_count(&p);
    while (!cut_start(&p, led_events[i].words))
        i++;
    ret->kind = led_events[i].kind;
    bool leads_to_process =
        ret->kind == EVENT_PIPE || ret->kind == EVENT_SOCKET || ret->kind == EVENT_END;
    if (leads_to_process && take_process(p, &ret->pid, &ret->name))
        return;
    bool named = ret->kind == EVENT_WAKE_UP || ret->kind == EVENT_OTHER || ret->kind == EVENT_END;
    *(named ? &ret->thing : &ret->address) = copy(p);
}

static void take_events(struct side_fields *ret, struct piece p)
{
    while (p.s < p.end && ret->n_events < SIDE_EVENTS) {
        struct piece piece = cut_piece(&p, "; ");
        struct piece more = piece;
        if (cut_start(&more, "and ")) {
            ret->at_least = cut_start(&more, "at least ");
            (void)cut_number(&more, &ret->more_events);
            return;
        }
        take_event(&ret->events[ret->n_events++], piece);
    }
}

static const char *text_or_none(const char *s)
{
    return s ? s : "";
}

static void add_led(struct text *out, const struct side_event *e)
{
    size_t i = 0;
    while (led_events[i].kind != e->kind)
        i++;
    text_add(out, led_events[i].words);
    if (e->pid)
        text_addf(out, "%d (%s)", e->pid, text_or_none(e->name));
    else
        text_add(out, text_or_none(e->thing ? e->thing : e->address));
    if (e->n > 1)
        text_addf(out, " (%llu)", (unsigned long long)e->n);
}

static void add_event(struct text *out, const struct side_event *e)
{
    bool is_counted = e->kind == EVENT_CLIENT || e->kind == EVENT_CONNECTION;
    size_t which = e->kind == EVENT_CONNECTION;
    if (!is_counted)
        add_led(out, e);
    else if (e->n == 1)
        text_add(out, counted_events[which].one);
    else
        text_addf(out, "%llu%s", (unsigned long long)e->n, counted_events[which].several);
    if (is_counted)
        text_addf(out, "%s%s", text_or_none(e->address), e->connecting ? connecting_words : "");
    add_queue(out, e->queue, 0);
}

static void add_events(struct text *out, const struct side_fields *side)
{
    for (size_t i = 0; i < side->n_events; i++) {
        text_add(out, i ? "; " : "");
        add_event(out, &side->events[i]);
    }
    if (side->more_events)
        text_addf(out, "; and %s%llu more", side->at_least ? "at least " : "",
                  (unsigned long long)side->more_events);
}

/* ---- the whole ---- */

static void take_what(struct side_fields *ret, enum wait_thing thing, struct piece what)
{
    struct piece rest = what;
    if (thing == THING_EVENTS)
        take_events(ret, what);
    else if (ret->holder == HOLDER_PROCESS)
        take_named(ret, what, thing == THING_CHILD);
    else if (thing == THING_CHILD)
        (void)cut_number(&rest, &ret->children);
    else if (!take_several(ret, what))
        take_end(ret, what);
}

void side_add_what(struct text *out, const struct side_fields *side, enum wait_thing thing)
{
    if (side->text)
        text_add(out, side->text);
    else if (thing == THING_EVENTS)
        add_events(out, side);
    else if (side->name)
        text_addf(out, "%s%s", side->name, fate_words[side->fate]);
    else if (side->children)
        text_addf(out, "%llu children", (unsigned long long)side->children);
    else if (side->processes)
        add_several(out, side);
    else if (side->end)
        add_end(out, side);
}

static struct side_fields holder_of(const struct wait_side *side)
{
    return (struct side_fields){.holder = side->holder, .pid = side->pid, .tid = side->tid};
}

void side_take_apart(struct side_fields *ret, const struct wait_side *side, const char *what)
{
    struct text again = {0};
    *ret = holder_of(side);
    if (*what)
        take_what(ret, side->thing, (struct piece){what, what + strlen(what)});
    text_add(&again, "");
    side_add_what(&again, ret, side->thing);
    if (!str_eq(again.s, what)) {
        side_release(ret);
        *ret = holder_of(side);
        ret->text = xstrdup(what);
    }
    text_release(&again);
}

void side_release(struct side_fields *side)
{
    free(side->name);
    free(side->address);
    free(side->text);
    for (size_t i = 0; i < side->n_listed; i++)
        free(side->listed[i].name);
    for (size_t i = 0; i < side->n_events; i++) {
        free(side->events[i].address);
        free(side->events[i].thing);
        free(side->events[i].name);
    }
    *side = (struct side_fields){.holder = HOLDER_UNKNOWN};
}
