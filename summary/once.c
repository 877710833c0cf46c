#include "summary/once.h"

#include "base/text.h"
#include "summary/frame_role.h"
#include "summary/known.h"
#include "summary/view.h"

/* Is F one of those between the asking function and its wait? */
static bool is_inner(const struct shown_frame *f)
{
    return f->kind == SHOWN_WAIT || (f->kind == SHOWN_NATIVE && (f->libc || f->glue)) ||
           known_row_of(f, KNOWN_FUTEX);
}

const struct shown_frame *once_asker(const struct shown_frame *stack, size_t n)
{
    bool once = false;
    if (!n || stack[n - 1].kind != SHOWN_WAIT)
        return NULL;
    for (; n && !stack[n - 1].guessed; n--) {
        const struct shown_frame *f = &stack[n - 1];
        once |= known_does(f, DOES_MAKE_ONCE);
        if (!is_inner(f))
            return once && f->kind == SHOWN_NATIVE && !f->nameless ? f : NULL;
    }
    return NULL;
}

static bool is_same(const struct shown_frame *a, const struct shown_frame *b)
{
    return a->kind == b->kind && str_eq(a->name, b->name) && a->module && b->module &&
           str_eq(a->module, b->module);
}

/* One that waits itself is in ASKER, too, but makes it only if it came there before: its making
 * asks for what is made. */
bool once_makes(const struct shown_frame *asker, const struct shown_frame *stack, size_t n)
{
    const struct shown_frame *own = once_asker(stack, n);
    for (size_t i = 0; i < n; i++)
        if (&stack[i] != own && is_same(&stack[i], asker))
            return true;
    return false;
}
