#include "summary/wait_class.h"

#include <string.h>

#include "base/text.h"
#include "summary/frame_role.h"
#include "summary/idle.h"
#include "summary/interrupted.h"
#include "summary/known.h"

bool is_sleep(const struct shown_frame *f)
{
    static const char *const calls[] = {"clock_nanosleep", "nanosleep", "pause", NULL};
    return f->kind == SHOWN_WAIT && f->wait == WAIT_CALL &&
           (str_is_one_of(f->call, calls) || (f->object && str_eq(f->object, "sleep")));
}

/* The frames of a stack, one after the other outward: of T's from NODE on, or of STACK, N there. */
struct outward {
    const struct call_tree *t; /* NULL: they are STACK's */
    uint32_t node;
    const struct shown_frame *stack;
    size_t n;
};

static struct outward outward_of(const struct call_tree *t, uint32_t node)
{
    return (struct outward){.t = t, .node = node};
}

/* NULL: that was the last one. */
static const struct shown_frame *next_outward(struct outward *w)
{
    if (!w->t)
        return w->n ? &w->stack[--w->n] : NULL;
    if (!w->node)
        return NULL;
    const struct call_node at = call_tree_node(w->t, w->node);
    w->node = at.parent;
    return at.frame;
}

static bool is_sqlites_sleep(struct outward w)
{
    const struct shown_frame *f = next_outward(&w);
    if (!f || !is_sleep(f))
        return false;
    do
        f = next_outward(&w);
    while (f && f->kind == SHOWN_NATIVE && f->libc);
    if (!f || !known_does(f, DOES_RETRY_LOCK))
        return false;
    while (f && f->kind == SHOWN_NATIVE && !known_does(f, DOES_SLEEP))
        f = next_outward(&w);
    return !f || f->kind != SHOWN_NATIVE;
}

bool waits_for_sqlite(const struct call_tree *t, uint32_t node)
{
    return is_sqlites_sleep(outward_of(t, node));
}

bool waits_for_libc(const struct call_tree *t, uint32_t node)
{
    const struct call_node at = call_tree_node(t, node);
    return class_of_node(t, node) == CLASS_ORDINARY && at.parent &&
           str_starts(at.frame->call, "futex") && call_tree_node(t, at.parent).role == ROLE_LIBC;
}

enum wait_class class_of_node(const struct call_tree *t, uint32_t node)
{
    const struct call_node at = call_tree_node(t, node);
    if (!at.frame || at.frame->kind != SHOWN_WAIT)
        return at.spins ? CLASS_SPIN : CLASS_NONE;
    if (at.idle)
        return CLASS_IDLE;
    switch (at.frame->wait) {
    case WAIT_GIL:
        return CLASS_GIL;
    case WAIT_PAGE:
        return CLASS_PAGE;
    case WAIT_CALL:
        if (at.frame->asleep)
            return CLASS_UNUSUAL; /* for a device */
        if (is_sleep(at.frame))
            return waits_for_sqlite(t, node) ? CLASS_ORDINARY : CLASS_SLEEP;
        if (str_eq(at.frame->call, "flock") || str_eq(at.frame->call, "fcntl"))
            return CLASS_ORDINARY; /* for whoever has the lock */
        if (at.files)
            return CLASS_FILE;
        return idle_is_ordinary_wait(at.frame, 1) ? CLASS_ORDINARY : CLASS_UNUSUAL;
    case WAIT_NONE:
        return CLASS_SPIN;
    case WAIT_CPU:
        return CLASS_NONE;
    case WAIT_UNKNOWN:
        return CLASS_UNUSUAL;
    case WAIT_FROZEN:
    case WAIT_STOPPED:
    case WAIT_TRACED:
    case WAIT_NOT_PERMITTED:
    case WAIT_IO_WORKER:
        break;
    }
    return CLASS_STOPPED;
}

enum wait_class class_of_run(struct call_tree *t, const struct run *run)
{
    if (run->state == RUN_STOPPED)
        return CLASS_STOPPED;
    if (run->state == RUN_MISSED)
        return CLASS_NONE;
    enum wait_class class = class_of_node(t, call_tree_of(t, run->at));
    return run->state == RUN_BLOCKED || class == CLASS_SPIN ? class : CLASS_NONE;
}

bool is_busy_class(enum wait_class class, const struct run *run)
{
    if (class == CLASS_NONE)
        return run->state != RUN_MISSED && run->state != RUN_BLOCKED;
    return class == CLASS_FILE || class == CLASS_PAGE || class == CLASS_UNUSUAL;
}

bool sleeps_in_own_code(const struct call_tree *t, uint32_t node)
{
    if (class_of_node(t, node) != CLASS_SLEEP)
        return false;
    do {
        node = call_tree_node(t, node).parent;
    } while (node && call_tree_node(t, node).role < ROLE_LIBRARY);
    return call_tree_node(t, node).role == ROLE_OWN;
}

bool is_for_known_result(const struct call_tree *t, uint32_t node)
{
    for (; node && call_tree_node(t, node).role != ROLE_OWN; node = call_tree_node(t, node).parent)
        if (known_row_of(call_tree_node(t, node).frame, KNOWN_RESULTS))
            return true;
    return false;
}

bool is_for_result(const struct call_tree *t, uint32_t node)
{
    static const char *const words[] = {"uture", "Event", "arrier", "join", "latch", NULL};
    if (is_for_known_result(t, node))
        return true;
    for (; node && call_tree_node(t, node).role != ROLE_OWN; node = call_tree_node(t, node).parent)
        if (str_has_any(call_tree_node(t, node).frame->name, words))
            return true;
    return false;
}

static bool opens_fifo(const struct shown_frame *f)
{
    return f->kind == SHOWN_WAIT && f->call && f->object && str_starts(f->call, "open") &&
           str_starts(f->object, "pipe ");
}

/* The function that sleeps itself, not one that calls others which wait. */
static bool is_retrys_sleep(struct outward w)
{
    const struct shown_frame *f = next_outward(&w);
    if (!f || !is_sleep(f))
        return false;
    do
        f = next_outward(&w);
    while (f && f->kind == SHOWN_NATIVE);
    return f && known_does(f, DOES_RETRY_CALL);
}

/* What a function of Python's that the user wrote waits for is its own, whoever calls it. */
static const char *meaning(struct outward w)
{
    const struct outward start = w;
    const struct shown_frame *wait = next_outward(&w);
    const bool sleeps = wait && is_sleep(wait);
    for (const struct shown_frame *f; (f = next_outward(&w));) {
        const struct known_row *row = known_row_of(f, KNOWN_SAYS);
        if (row && (sleeps || !(row->does >> DOES_SLEEP & 1)))
            return row->says;
        if (f->kind == SHOWN_PYTHON && frame_role(f, true) == ROLE_OWN)
            break;
    }
    if (wait && wait->asleep)
        return spinning_meaning(wait->asleep);
    if (wait && opens_fifo(wait))
        return "No process has the other end of this FIFO open: opening it waits for one.";
    if (is_retrys_sleep(start))
        return "A call failed there, or did not give what is wanted: it is made again after each "
               "sleep.";
    if (is_sqlites_sleep(start))
        return "SQLite tries again there: another connection has the database locked.";
    return NULL;
}

const char *meaning_of(const struct call_tree *t, uint32_t node)
{
    return meaning(outward_of(t, node));
}

const char *meaning_of_stack(const struct shown_frame *stack, size_t n)
{
    const char *words = interrupted_words(stack, n);
    return words ? words : meaning((struct outward){.stack = stack, .n = n});
}

bool is_unowned_wait(const struct call_tree *t, uint32_t node)
{
    static const unsigned kinds = 1U << FUTEX_CONDITION | 1U << FUTEX_SEMAPHORE;
    return kinds >> call_tree_node(t, node).futex & 1 && class_of_node(t, node) == CLASS_ORDINARY &&
           !is_for_result(t, node);
}

bool is_in_own_code(const struct call_tree *t, uint32_t node)
{
    return call_tree_own(t, node) != 0;
}

bool is_for_lock(const struct call_tree *t, uint32_t node)
{
    static const char *const files[] = {"flock", "fcntl", NULL};
    const struct call_node at = call_tree_node(t, node);
    if (!at.frame || at.frame->kind != SHOWN_WAIT || !at.frame->call)
        return false;
    return at.futex == FUTEX_LOCK || at.futex == FUTEX_RWLOCK ||
           str_is_one_of(at.frame->call, files);
}

bool may_be_for_work(const struct call_tree *t, uint32_t node, size_t threads)
{
    static const char *const polls[] = {"poll", "ppoll", "select", "pselect6", NULL};
    static const char *const calls[] = {"accept", "accept4", "read", NULL};
    static const unsigned locks = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK | 1U << FUTEX_JOIN;
    const struct call_node at = call_tree_node(t, node);
    const char *call = at.frame->call ? at.frame->call : "";
    if (str_starts(call, "futex"))
        return !(locks >> at.futex & 1);
    if (str_is_one_of(call, polls))
        return threads < 2 || !is_in_own_code(t, node);
    if (str_eq(call, "read") && at.sockets) /* read(2) of a socket is recv(2): for an answer */
        return false;
    return str_is_one_of(call, calls) || str_starts(call, "epoll_");
}
