#include "summary/idle.h"

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/known.h"

/* How many of the N frames there are up to the one that waits: the innermost that is neither glue
 * nor, if QUEUES, a function that reads a queue.  0: there is none. */
static size_t find_caller(const struct shown_frame *stack, size_t n, bool queues)
{
    while (n && (stack[n - 1].glue || (queues && known_row_of(&stack[n - 1], KNOWN_TAKES))))
        n--;
    return n;
}

/* Does the loop STACK[LOOP], which writes to a queue, wait for its turn to write? */
static bool waits_to_write(const struct shown_frame *stack, size_t loop, size_t n)
{
    if (!known_row_of(&stack[loop], KNOWN_PUTS))
        return false;
    for (size_t i = loop + 1; i < n; i++)
        if (known_row_of(&stack[i], KNOWN_TAKES))
            return true;
    return false;
}

static bool waits_for_answer(const struct shown_frame *stack, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (known_row_of(&stack[i], KNOWN_ANSWER))
            return true;
    return false;
}

static bool has_own_code(const struct shown_frame *stack, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (frame_role(&stack[i], true) == ROLE_OWN)
            return true;
    return false;
}

const struct shown_frame *idle_pool_wait(const struct shown_frame *stack, size_t n)
{
    if (!idle_is_ordinary_wait(stack, n))
        return NULL;
    size_t caller = find_caller(stack, n, false);
    if (!caller)
        return NULL;
    const struct shown_frame *f = &stack[caller - 1];
    if (f->pool_loop && (waits_for_answer(stack, caller - 1) ||
                         (known_row_of(f, KNOWN_JOINED) && has_own_code(stack, caller - 1))))
        return NULL;
    if (f->pool_loop)
        return waits_to_write(stack, caller - 1, n) ? NULL : f;
    size_t reader = find_caller(stack, caller, true);
    if (reader && stack[reader - 1].pool_loop && !known_row_of(&stack[reader - 1], KNOWN_PUTS))
        return &stack[reader - 1];
    /* A library of workers: its own all the way up, so that no task of a user is on the stack. */
    const char *pool = known_workers_of(f);
    for (size_t i = caller; pool && i-- > 0;) {
        const char *other = known_workers_of(&stack[i]);
        if (!stack[i].glue && !(other && str_eq(other, pool)))
            return NULL;
    }
    return pool ? f : NULL;
}

static bool is_poll(const struct shown_frame *leaf)
{
    static const char *const polls[] = {"poll",     "ppoll",          "select",
                                        "pselect6", "io_uring_enter", NULL};
    return leaf->kind == SHOWN_WAIT && leaf->wait == WAIT_CALL &&
           (str_starts(leaf->call, "epoll_") || str_is_one_of(leaf->call, polls));
}

/* Does LOOP, a frame of an event loop's, call F only to poll?  A callback is another's code. */
static bool is_way_to_poll(const struct shown_frame *loop, const struct shown_frame *f)
{
    if (f->glue || known_row_of(f, KNOWN_POLLER))
        return true;
    if (loop->kind == SHOWN_PYTHON)
        return f->kind == SHOWN_NATIVE && frame_role(f, true) != ROLE_OWN;
    return f->kind == SHOWN_NATIVE && f->module && loop->module &&
           str_eq(f->module, loop->module) && frame_role(f, true) != ROLE_OWN;
}

/* The loop that the innermost frame of an event loop's in STACK is of, if only its way to the poll
 * is behind that; NULL: there is none.  *RET_AT: that frame. */
static const char *loop_on_top(const struct shown_frame *stack, size_t n, size_t *ret_at)
{
    const char *loop = NULL;
    size_t at = n;
    while (at && !loop)
        loop = stack[--at].loop;
    for (size_t i = at + 1; loop && i < n; i++)
        if (!is_way_to_poll(&stack[at], &stack[i]))
            return NULL;
    if (!loop || waits_for_answer(stack, at))
        return NULL;
    *ret_at = at;
    return loop;
}

const char *idle_event_loop(const struct shown_frame *stack, size_t n)
{
    size_t at;
    return n && is_poll(&stack[n - 1]) ? loop_on_top(stack, n, &at) : NULL;
}

static bool is_polling_call(const struct shown_frame *f)
{
    static const char *const calls[] = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll",
                                        "ppoll",      "select",      "pselect",      NULL};
    return f->kind == SHOWN_NATIVE && f->libc && str_is_one_of(frame_libc_name(f->name), calls);
}

bool idle_polls(const struct shown_frame *f)
{
    return is_poll(f) || is_polling_call(f) || known_row_of(f, KNOWN_POLLER);
}

const char *idle_polling_loop(const struct shown_frame *stack, size_t n)
{
    size_t at = 0;
    const char *loop = loop_on_top(stack, n, &at);
    for (size_t i = at + 1; loop && i < n; i++)
        if (idle_polls(&stack[i]))
            return loop;
    return NULL;
}

bool idle_is_ordinary_wait(const struct shown_frame *stack, size_t n)
{
    static const char *const calls[] = {
        "futex",           "futex_wait",    "futex_waitv",     "poll",
        "ppoll",           "select",        "pselect6",        "epoll_wait",
        "epoll_pwait",     "epoll_pwait2",  "nanosleep",       "pause",
        "clock_nanosleep", "rt_sigsuspend", "rt_sigtimedwait", "accept",
        "accept4",         "recvfrom",      "recvmsg",         "recvmmsg",
        "wait4",           "waitid",        "io_uring_enter",  "io_getevents",
        "io_pgetevents",   "semop",         "semtimedop",      "msgrcv",
        "mq_timedreceive", "sched_yield",   "restart_syscall", NULL};
    const struct shown_frame *leaf = n ? &stack[n - 1] : NULL;
    if (!leaf || leaf->kind != SHOWN_WAIT || leaf->wait != WAIT_CALL)
        return false;
    if (str_is_one_of(leaf->call, calls))
        return true;
    /* A read waits for somebody's message unless it is of a file; of a terminal, for its user. */
    static const char *const terminals[] = {"/dev/pts/", "/dev/tty", "/dev/console", NULL};
    return str_eq(leaf->call, "read") && leaf->object &&
           (leaf->object[0] != '/' || str_starts_any(leaf->object, terminals));
}
