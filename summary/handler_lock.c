#include "summary/handler_lock.h"

#include "base/text.h"
#include "summary/frame_role.h"
#include "summary/known.h"

const char handler_words[] =
    "It is in a signal handler, which interrupted what has this lock: it waits for itself. A "
    "handler may only call what signal-safety(7) lists.";

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

bool handler_waits_for_interrupted(const struct shown_frame *stack, size_t n)
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
