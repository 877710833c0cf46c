#include "waits/wait_peer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/duty_cycle.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "target/proc.h"
#include "waits/listeners.h"
#include "waits/peer_find.h"
#include "waits/peer_socket.h"
#include "waits/recent_peers.h"
#include "waits/time_out.h"

enum {
    SHARE = 200, /* one part of the time is for looks */
    HALF_SHARE = 2 * SHARE,
    /* Three seconds' part is taken at the beginning, so that short recordings have answers, too. */
    FIRST_SHARE = 10,
    FIRST_NS = 15 * NS_PER_MS,
    LONGEST_LOOK_NS = 30 * NS_PER_MS,
    WAITS_AT_ONCE = 32,
    AGAIN_NS = 10 * NS_PER_MS,
    /* A look may put off the next one by seconds: first the waits of other threads come in. */
    GATHER_NS = 20 * NS_PER_MS,
    GATHER_SOCKETS_NS = 500 * NS_PER_MS,
    MOST_WAITING = 4096,
    ANSWERED_NS = NS_PER_S, /* between two looks at waits that have an answer */
    LATE_NS = 5 * NS_PER_MS,
};
/* So long after a socket was gone before it could be looked at. */
static const int64_t hurries_ns = INT64_C(5) * NS_PER_S;
static const int64_t longest_pause_ns = INT64_C(32) * NS_PER_S; /* of those without a process */
/* A wait whose process is known, and may pass its end on; or of which only an address is.  At most
 * one a thread. */
struct answered_wait {
    struct blocked_call call;
    struct wait_side side;    /* the last answer */
    int64_t due_ns, pause_ns; /* no look before; until the next but one, if there are pauses */
};

struct wait_peers {
    struct profile *profile;
    const struct wait_host *host;
    struct peer_looks looks;
    struct blocked_call *queue; /* by time of coming; those before HEAD are done */
    size_t head, n, capacity;
    struct duty_cycle looking;
    int64_t looked_cpu_ns;     /* what that took in all */
    struct duty_cycle reading; /* of sockets that are gone soon: half of the time, then */
    struct recent_peers recent;
    struct answered_wait *answered;
    size_t n_answered, answered_capacity;
    struct map answered_by_thread; /* → index into ANSWERED */
    int64_t answered_due_ns;       /* when they are to be looked at again */
    size_t again_at;               /* where that goes on: they may be more than there is time for */
    struct map listeners_sought;   /* listeners_find() */
    int64_t gathering_since_ns;    /* 0: nothing is put down for a look */
    bool has_fresh;                /* a wait at a socket came, and may be over soon: the last one */
    struct blocked_call fresh;
    uint64_t n_dropped; /* waits that nobody looks at: too many came at once */
    uint64_t n_late;    /* looks for the holder of a file's lock that came too late */
};

struct wait_peers *wait_peers_new(struct profile *p, const struct wait_host *host)
{
    struct wait_peers *w = xcalloc(1, sizeof *w);
    w->profile = p;
    w->host = host;
    w->looks.profile = p;
    return w;
}

void wait_peers_report(const struct wait_peers *w)
{
    profile_set_number(w->profile, METRIC_SOCKETS_GIVEN_UP, (double)w->looks.net.given_up);
    profile_set_number(w->profile, METRIC_SEARCHES_GIVEN_UP, (double)w->looks.scan.n_cut);
    profile_set_number(w->profile, METRIC_PEERS_NOT_SOUGHT, (double)w->n_dropped);
}

struct wait_peers *wait_peers_free(struct wait_peers *w)
{
    if (!w)
        return NULL;
    peer_looks_release(&w->looks);
    recent_peers_release(&w->recent);
    map_release(&w->answered_by_thread);
    map_release(&w->listeners_sought);
    free(w->answered);
    free(w->queue);
    free(w);
    return NULL;
}

/* ---- one wait ---- */

static struct wait_target target_of(const struct wait_peers *w, const struct blocked_call *call)
{
    return w->host->target(w->host->ctx, call->process);
}

static struct peer_wait wait_of(const struct wait_peers *w, const struct blocked_call *call)
{
    struct wait_target s = target_of(w, call);
    return (struct peer_wait){.pid = s.pid,
                              .tid = call->tid,
                              .own_namespace = call->tid == call->ns_tid,
                              .since_ns = call->since_ns,
                              .number = call->number,
                              .args = call->args,
                              .live = s.live,
                              .fd = call->fd,
                              .flow = call->flow};
}

/* False: the wait is over, or its descriptor another file's. */
static bool look_at_call(struct wait_peers *w, const struct blocked_call *call,
                         struct peer_answer *ret)
{
    char link[DESCRIPTOR_LINK_BYTES];
    struct peer_wait wait = wait_of(w, call);
    if (!blocked_call_lasts(wait.pid, call) || !blocked_call_has_link(wait.pid, call, wait.link))
        return false;
    peer_find(&w->looks, &wait, ret);
    return blocked_call_has_link(wait.pid, call, link) && blocked_call_lasts(wait.pid, call);
}

/* Does a recording wait for a later look?  A dump makes one only. */
static bool is_final(const struct peer_answer *a)
{
    return !a->later && !a->young;
}

/* The other end of a socket of which it is known. */
static void complete_socket(struct wait_peers *w, uint64_t inode, struct wait *wait)
{
    struct net_socket socket;
    if (!net_look_has(&w->looks.net, inode, &socket))
        return;
    wait->side = (struct wait_side){.thing = THING_SOCKET, .timed = true};
    wait->side.blocker = peer_of_socket(&w->looks, &socket, false, INT64_MAX);
}

/* Is the address of its other end, or of the only connection that is polled, known, and no more? */
static bool has_only_address(const struct wait_side *side)
{
    bool connection = side->thing == THING_SOCKET && side->blocker.net == NET_TCP;
    return (connection || (side->thing == THING_EVENTS && side->single)) && !side->blocker.pid;
}

/* ---- the queue of a recording ---- */

/* The calls before the head are removed when they are as many as those behind it. */
static void enqueue(struct wait_peers *w, const struct blocked_call *call)
{
    if (w->head && w->head >= w->n - w->head) {
        w->n -= w->head;
        memmove(w->queue, w->queue + w->head, w->n * sizeof *w->queue);
        w->head = 0;
    }
    if (w->n - w->head >= MOST_WAITING) {
        w->n_dropped++;
        return;
    }
    w->queue = array_reserve(w->queue, &w->capacity, w->n + 1, sizeof *w->queue);
    w->queue[w->n++] = *call;
}

/* ---- pipes and sockets that are waited for again and again ---- */

static void remember(struct wait_peers *w, const struct blocked_call *call,
                     const struct peer_answer *answer)
{
    const struct wait_side *side = &answer->side;
    bool poll = side->thing == THING_EVENTS;
    if (!call->link || (!poll && side->thing != THING_PIPE && side->thing != THING_SOCKET))
        return;
    struct recent_peer recent = {
        .side = *side, .pid = answer->pid, .fd = answer->fd, .link = answer->link};
    recent.side.blocker.queue = QUEUE_UNTOLD; /* the next wait may find it connected */
    if (poll) {
        recent.poller = target_of(w, call).pid;
        recent.epoll = call->fd;
        recent.list = answer->list;
    }
    if (poll && !answer->list)
        recent = (struct recent_peer){.fd = 0}; /* not to be searched all the time */
    recent_peers_put(&w->recent, call, &recent);
}

static bool complete_recent(struct wait_peers *w, const struct blocked_call *call,
                            struct wait *wait)
{
    bool renew = false;
    const struct recent_peer *recent = recent_peers_get(&w->recent, call, &renew);
    if (renew)
        enqueue(w, call);
    if (!recent)
        return false;
    wait->side = recent->side;
    enum wait_thing thing = wait->side.thing;
    if (thing == THING_EVENTS || (thing == THING_PIPE && syscall_polls(call->number)))
        wait->side.timed = time_out_is_given(call->number, call->args);
    return true;
}

void wait_peers_complete(struct wait_peers *w, const struct sample_message *m, struct wait *wait)
{
    struct blocked_call call;
    if (!w || wait->kind != WAIT_CALL || !blocked_call_of(m, &call) || !call.link)
        return;
    if (!complete_recent(w, &call, wait) && call.socket)
        complete_socket(w, call.socket, wait);
}

static bool may_have_process(const struct wait_peers *w, const struct blocked_call *call)
{
    struct net_socket socket;
    return net_look_has(&w->looks.net, call->socket, &socket) &&
           peer_has_process(&w->looks, &socket, call->flow);
}

/* Whatever begins to wait for CALL's socket before there is an answer need not ask, too. */
static void ask_for_process(struct wait_peers *w, const struct blocked_call *call)
{
    const struct recent_peer none = {.side.blocker.net = NET_TCP};
    if (!recent_peers_is_due(&w->recent, call))
        return;
    recent_peers_put(&w->recent, call, &none);
    enqueue(w, call);
}

/* ---- its waits, in turn ---- */

static void add_answered(struct wait_peers *w, const struct blocked_call *call,
                         const struct wait_side *side)
{
    uint64_t at = w->n_answered;
    if (!map_get(&w->answered_by_thread, call->thread_no, &at) && at == MOST_WAITING)
        return;
    if (at == w->n_answered) {
        w->answered =
            array_reserve(w->answered, &w->answered_capacity, ++w->n_answered, sizeof *w->answered);
        w->answered[at] = (struct answered_wait){.pause_ns = ANSWERED_NS};
        map_put(&w->answered_by_thread, call->thread_no, at);
    }
    struct answered_wait now = {*call, *side, 0, ANSWERED_NS};
    if (side->blocker.net == NET_TCP) { /* it was searched for just now, and hardly ever moves */
        now.pause_ns = (int64_t)4 * ANSWERED_NS;
        now.due_ns = clock_now_ns() + now.pause_ns;
    }
    const struct answered_wait *before = &w->answered[at];
    if (call->link && before->call.thread_no == call->thread_no &&
        before->call.link == call->link) {
        now.due_ns = before->due_ns;
        now.pause_ns = before->pause_ns;
    }
    w->answered[at] = now;
}

static void drop_answered(struct wait_peers *w, size_t at)
{
    map_remove(&w->answered_by_thread, w->answered[at].call.thread_no);
    w->answered[at] = w->answered[--w->n_answered];
    if (at < w->n_answered)
        map_put(&w->answered_by_thread, w->answered[at].call.thread_no, at);
}

/* Are there connections that live for one request, as it seems? */
static bool hurries(const struct wait_peers *w)
{
    int64_t missed_ns = w->looks.net.missed_ns;
    return missed_ns && clock_now_ns() - missed_ns < hurries_ns;
}

void wait_peers_see(struct wait_peers *w, const struct sample_message *m, wait_id id)
{
    struct blocked_call call;
    const struct wait *wait = profile_see_wait(w->profile, id);
    if (!wait || wait->kind != WAIT_CALL || !blocked_call_of(m, &call))
        return;
    struct net_socket unused;
    if (!wait->side.thing && call.socket && hurries(w)) {
        w->has_fresh = true;
        w->fresh = call;
    }
    if (has_only_address(&wait->side) && call.socket) /* wishes for what may be known by now */
        (void)net_look_find(&w->looks.net, target_of(w, &call).pid, call.socket, &unused);
    bool searched = has_only_address(&wait->side) && may_have_process(w, &call);
    if (!wait->side.thing)
        enqueue(w, &call);
    if (searched)
        ask_for_process(w, &call);
    if (searched || blocker_is_process(&wait->side.blocker))
        add_answered(w, &call, &wait->side);
}

/* Is CALL's thread in the sample still that found it?  RET gets its wait then. */
static bool still_open(const struct wait_peers *w, const struct blocked_call *call, wait_id *ret)
{
    struct open_sample s;
    if (!w->host->sample(w->host->ctx, call->thread_no, &s) || s.since_ns != call->since_ns ||
        s.runs != call->runs)
        return false;
    *ret = s.wait;
    return true;
}

/* The wait ID, if its side is not known yet, or only the address; NULL. */
static const struct wait *unanswered(const struct wait_peers *w, wait_id id)
{
    const struct wait *wait = profile_see_wait(w->profile, id);
    bool lacks =
        wait && wait->kind == WAIT_CALL && (!wait->side.thing || has_only_address(&wait->side));
    return lacks ? wait : NULL;
}

static void put_wait(struct wait_peers *w, const struct blocked_call *call, const struct wait *wait)
{
    w->host->complete(w->host->ctx, call->thread_no, profile_wait(w->profile, wait));
}

/* Is SIDE, of a poll, all of the process's own: what it wakes itself by? */
static bool is_own(const struct wait_peers *w, const struct wait_side *side)
{
    const struct listed_blocker *first = profile_see_blocker(w->profile, side->list);
    return side->thing == THING_EVENTS && first && first->blocker.kind == BLOCKER_ITSELF &&
           !first->next.ix && !side->more && !side->at_least;
}

/* Several have the other side, or nobody who was found: of several one may be left later. */
static bool may_change(const struct wait_peers *w, const struct wait_side *side)
{
    return (side->blocker.kind == BLOCKER_SEVERAL || side->blocker.kind == BLOCKER_UNKNOWN) &&
           !is_own(w, side);
}

static void put_answer(struct wait_peers *w, const struct blocked_call *call, wait_id open,
                       const struct peer_answer *answer)
{
    const struct wait *old = unanswered(w, open);
    if (!old || !answer->side.thing || !is_final(answer) ||
        (old->side.thing && !answer->side.blocker.pid))
        return;
    struct wait wait = *old;
    wait.side = answer->side;
    put_wait(w, call, &wait);
    if (blocker_is_process(&wait.side.blocker) || may_change(w, &wait.side) ||
        (has_only_address(&wait.side) && (!call->socket || may_have_process(w, call))))
        add_answered(w, call, &wait.side);
}

/* A wait for later. */
static void put_off(struct wait_peers *w, const struct blocked_call *call)
{
    struct blocked_call later = *call;
    later.due_ns = clock_now_ns() + AGAIN_NS;
    enqueue(w, &later);
}

/* Does the connection of CALL, if not that wait? */
static bool goes_on(const struct wait_peers *w, const struct blocked_call *call)
{
    char link[DESCRIPTOR_LINK_BYTES];
    return blocked_call_has_link(target_of(w, call).pid, call, link);
}

/* A socket in the tables of the network was read with the stack, and has the same other end for as
 * long as it lives: no look at the thread is needed.  OPEN: of its sample, if that is still open.
 * False: it is no such socket. */
static bool handle_socket(struct wait_peers *w, const struct blocked_call *call, wait_id open)
{
    struct net_socket socket;
    struct peer_answer answer = {0};
    struct peer_wait wait = wait_of(w, call);
    bool known = net_look_has(&w->looks.net, call->socket, &socket);
    if (!known && !goes_on(w, call)) {
        net_look_note_gone(&w->looks.net);
        return true;
    }
    if (!known && net_look_is_wished(&w->looks.net, call->socket)) {
        enqueue(w, call);
        return true;
    }
    if (peer_socket_is_unix(&w->looks, wait.pid, call->socket))
        return false;
    switch (net_look_find(&w->looks.net, wait.pid, call->socket, &socket)) {
    case NET_UNKNOWN:
        enqueue(w, call);
        return true;
    case NET_NO_SOCKET:
        return false;
    case NET_KNOWN:
        break;
    }
    peer_answer_socket(&w->looks, &wait, &socket, &answer);
    if (answer.later && goes_on(w, call))
        put_off(w, call);
    else if (!answer.later && peer_has_process(&w->looks, &socket, call->flow))
        remember(w, call, &answer);
    answer.later = false; /* its address is known */
    put_answer(w, call, open, &answer);
    return true;
}

/* This wait is over, but more of them may follow at the same descriptor.  The list of an epoll may
 * be another one by now: whoever gets the answer checks it. */
static void look_at_descriptor(struct wait_peers *w, const struct blocked_call *call,
                               struct peer_answer *ret)
{
    char link[DESCRIPTOR_LINK_BYTES];
    struct peer_wait wait = wait_of(w, call);
    wait.over = true;
    if (!blocked_call_has_link(wait.pid, call, wait.link))
        return;
    peer_find(&w->looks, &wait, ret);
    if (!ret->later && !blocked_call_has_link(wait.pid, call, link))
        ret->side.thing = THING_UNKNOWN;
}

/* The oldest wait.  Returns whether it took a look. */
static bool handle_one(struct wait_peers *w)
{
    struct blocked_call call = w->queue[w->head++];
    wait_id open = {0};
    bool is_open = still_open(w, &call, &open);
    struct peer_answer answer = {0};
    if (call.socket && handle_socket(w, &call, open))
        return true;
    bool is_over = !is_open || !look_at_call(w, &call, &answer);
    if (is_over) {
        answer = (struct peer_answer){.later = false};
        w->n_late += peer_is_file_lock(call.number) && clock_now_ns() - call.due_ns > LATE_NS;
    }
    bool again = is_over && call.link && recent_peers_is_due(&w->recent, &call);
    if (again)
        look_at_descriptor(w, &call, &answer);
    /* What is on its way to a poll that goes on is this wait's own. */
    bool has_queues = !is_over && answer.side.thing == THING_EVENTS;
    if (is_final(&answer) && !has_queues)
        remember(w, &call, &answer);
    else if (!is_final(&answer))
        put_off(w, &call);
    if (!is_over)
        put_answer(w, &call, open, &answer);
    return is_open || again;
}

/* ---- known sides, again ----
 *
 * The other end of a pipe is handed on to a child, a file's lock to the process that waited for it
 * longer: that wakes nobody. */

/* Is it the same one, and has not been stopped, nor become another program, since? */
static bool is_as_before(const struct blocker *a, const struct blocker *b)
{
    return blockers_are_same(a, b) && a->fate == b->fate && a->name.ix == b->name.ix &&
           a->n == b->n;
}

/* Looks from before SINCE_NS are no answer. */
static void look_again(struct wait_peers *w, struct answered_wait *answered, int64_t since_ns)
{
    struct peer_answer answer = {0};
    struct blocked_call call = answered->call;
    call.since_ns = since_ns;
    if (since_ns < answered->due_ns || !look_at_call(w, &call, &answer) || !is_final(&answer))
        return;
    if (has_only_address(&answer.side) || answer.side.blocker.net == NET_TCP ||
        may_change(w, &answer.side)) {
        answered->due_ns = since_ns + answered->pause_ns;
        answered->pause_ns = min_i64(2 * answered->pause_ns, longest_pause_ns);
    }
    if (!is_as_before(&answer.side.blocker, &answered->side.blocker))
        w->host->change(w->host->ctx, call.thread_no, &answer.side, clock_now_ns());
    answered->side = answer.side;
}

/* Looks at MOST waits from place FROM on, or at as many as there is time for.  Returns how many. */
static size_t see_again(struct wait_peers *w, size_t from, size_t most, int64_t since_ns)
{
    enum { WAITS_A_CLOCK = 8 };
    int64_t end_cpu_ns = clock_cpu_ns() + LONGEST_LOOK_NS;
    wait_id open;
    size_t n = 0;
    while (from + n < w->n_answered && n < most &&
           ((n + 1) % WAITS_A_CLOCK || clock_cpu_ns() < end_cpu_ns)) {
        if (still_open(w, &w->answered[from + n].call, &open))
            look_again(w, &w->answered[from + n++], since_ns);
        else
            drop_answered(w, from + n);
    }
    return n;
}

static void look_at_answered(struct wait_peers *w)
{
    int64_t now_ns = clock_now_ns();
    size_t from = w->again_at < w->n_answered ? w->again_at : 0;
    size_t n = see_again(w, from, SIZE_MAX, now_ns); /* most of them wish for a look */
    if (peer_looks_run(&w->looks, LONGEST_LOOK_NS))
        n = see_again(w, from, n, now_ns);
    bool round_is_over = from + n >= w->n_answered;
    w->again_at = round_is_over ? 0 : from + n;
    w->answered_due_ns = clock_now_ns() + (round_is_over ? ANSWERED_NS : 0);
}

void wait_peers_look_last(struct wait_peers *w)
{
    enum { MOST_LOOKS = 8 };
    w->again_at = 0;
    for (int i = 0; i < MOST_LOOKS && (i == 0 || w->again_at); i++)
        look_at_answered(w);
    listeners_find(&w->looks, &w->listeners_sought);
}

/* Looks at once for what the wait is for that came last, if it still lasts. */
static void look_at_fresh(struct wait_peers *w)
{
    struct net_socket unused;
    wait_id open;
    const struct blocked_call *call = &w->fresh;
    if (!still_open(w, call, &open) ||
        peer_socket_is_unix(&w->looks, target_of(w, call).pid, call->socket))
        return;
    if (net_look_find(&w->looks.net, target_of(w, call).pid, call->socket, &unused) == NET_UNKNOWN)
        (void)net_look_run(&w->looks.net, LONGEST_LOOK_NS);
    if (still_open(w, call, &open))
        (void)handle_socket(w, call, open);
}

static bool have_gathered(struct wait_peers *w, int64_t now_ns)
{
    const struct peer_looks *l = &w->looks;
    bool only_sockets = !fd_scan_is_wanted(&l->scan) && !l->want_processes;
    if (!peer_looks_wanted(l))
        w->gathering_since_ns = 0;
    else if (!w->gathering_since_ns)
        w->gathering_since_ns = now_ns;
    /* Those that are gone soon are read when one comes.  The others are read all the same. */
    int64_t least_ns = hurries(w) && only_sockets ? GATHER_SOCKETS_NS : GATHER_NS;
    return w->gathering_since_ns && now_ns - w->gathering_since_ns >= least_ns;
}

void wait_peers_look(struct wait_peers *w)
{
    int64_t now_ns = clock_now_ns();
    if (w->has_fresh && duty_cycle_begin(&w->reading)) {
        look_at_fresh(w);
        duty_cycle_end(&w->reading, HALF_SHARE, 0);
        w->has_fresh = false;
    }
    if (now_ns < wait_peers_due_ns(w) || !duty_cycle_begin(&w->looking))
        return;
    if (w->n_answered && w->answered_due_ns <= now_ns)
        look_at_answered(w);
    else if (have_gathered(w, now_ns) && peer_looks_run(&w->looks, LONGEST_LOOK_NS))
        w->gathering_since_ns = 0;
    size_t most = w->n - w->head; /* those that are put off come behind */
    for (size_t looks = 0; looks < WAITS_AT_ONCE && most > 0; most--) {
        if (w->queue[w->head].due_ns > now_ns)
            break;
        looks += handle_one(w);
    }
    w->looked_cpu_ns += clock_cpu_ns() - w->looking.begun_cpu_ns;
    bool first = w->looked_cpu_ns < FIRST_NS;
    duty_cycle_end(&w->looking, first ? FIRST_SHARE : hurries(w) ? HALF_SHARE : SHARE, 0);
}

uint64_t wait_peers_late(const struct wait_peers *w)
{
    return w->n_late;
}

int64_t wait_peers_due_ns(const struct wait_peers *w)
{
    int64_t first_ns = w->head == w->n ? INT64_MAX : w->queue[w->head].due_ns;
    int64_t answered_ns = w->n_answered ? w->answered_due_ns : INT64_MAX;
    int64_t due_ns = min_i64(first_ns, answered_ns);
    return due_ns == INT64_MAX ? due_ns : max_i64(due_ns, w->looking.due_ns);
}

/* ---- a dump ---- */

void wait_peers_find_all(struct wait_peers *w, const struct asked_call *asked, size_t n)
{
    enum { ROUNDS = 3 }; /* sockets, then their processes, then the answer */
    w->looks.is_dump = true;
    bool *done = xcalloc(n ? n : 1, sizeof *done);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < n; i++) {
            struct peer_answer answer = {0};
            if (done[i])
                continue;
            bool good = look_at_call(w, asked[i].call, &answer);
            done[i] = !good || !answer.later;
            if (good && answer.side.thing) /* of a socket the address comes before its process */
                *asked[i].side = answer.side;
        }
        if (!peer_looks_run(&w->looks, NS_PER_S))
            break;
    }
    free(done);
}
