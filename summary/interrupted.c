#include "summary/interrupted.h"

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/futex_kind.h"
#include "summary/known.h"

/* Are A and B of one lock of the C library's, as far as their names tell? */
static bool have_one_lock(const struct shown_frame *a, const struct shown_frame *b)
{
    return str_eq(a->name, b->name) || (frame_is_malloc(a) && frame_is_malloc(b));
}

/* Is one of STACK's first N frames up to the last that is none of the C library's, outward, of one
 * lock with F? */
static bool interrupted_has(const struct shown_frame *stack, size_t n, const struct shown_frame *f)
{
    for (; n && stack[n - 1].libc; n--)
        if (have_one_lock(&stack[n - 1], f))
            return true;
    return false;
}

static bool handler_waits(const struct shown_frame *stack, size_t n)
{
    const struct shown_frame *wait = n ? &stack[n - 1] : NULL;
    if (!wait || wait->kind != SHOWN_WAIT || wait->wait != WAIT_CALL ||
        !str_starts(wait->call, "futex"))
        return false;
    size_t handler = n - 1; /* frames up to what the handler returns to */
    while (handler && !frame_is_signal(&stack[handler - 1]))
        handler--;
    if (handler > 1 && known_does(&stack[handler - 2], DOES_BLOCK))
        return false; /* who was interrupted in a wait has no lock yet */
    for (size_t i = n - 1; handler && i > handler && stack[i - 1].libc; i--)
        if (interrupted_has(stack, handler - 1, &stack[i - 1]))
            return true;
    return false;
}

/* Is F a __del__(), or what the collector calls: one, or the callback of a weakref? */
static bool begins_finalizer(const struct shown_frame *f)
{
    return (f->kind == SHOWN_PYTHON && frame_name_has(f->name, "__del__")) ||
           (f->kind == SHOWN_MARK && str_eq(f->name, "[gc]"));
}

static bool finalizer_waits(const struct shown_frame *stack, size_t n)
{
    static const unsigned kinds = 1U << FUTEX_LOCK | 1U << FUTEX_CONDITION | 1U << FUTEX_SEMAPHORE;
    size_t inside = 0;  /* functions of Python's in it, */
    size_t outside = 0; /* and in what it interrupted */
    bool begun = false;
    if (!(kinds >> futex_kind(stack, n) & 1))
        return false;
    for (; n; n--) {
        size_t *side = begun ? &outside : &inside;
        *side += stack[n - 1].kind == SHOWN_PYTHON;
        begun |= begins_finalizer(&stack[n - 1]);
    }
    return inside && outside;
}

const char *interrupted_words(const struct shown_frame *stack, size_t n)
{
    if (handler_waits(stack, n))
        return "It is in a signal handler, which interrupted what has this lock: it waits for "
               "itself. A handler may only call what signal-safety(7) lists.";
    if (finalizer_waits(stack, n))
        return "It is in a finalizer, which may begin in the middle of any call, also of the one "
               "that it waits for. Let it only note its work: queue.SimpleQueue.put() may be "
               "called there.";
    return NULL;
}
