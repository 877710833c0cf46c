#include "summary/futex_kind.h"

#include <string.h>

#include "base/text.h"
#include "summary/frame_role.h"
#include "summary/known.h"

static const struct known_row *lock_of(const struct shown_frame *f)
{
    return known_row_of(f, KNOWN_FUTEX);
}

bool futex_is_wait(const struct shown_frame *f)
{
    static const unsigned locks = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK;
    const struct known_row *row = f->libc ? lock_of(f) : NULL;
    return row && !(locks >> row->futex & 1) &&
           (strstr(f->name, "wait") || strstr(f->name, "join"));
}

/* ---- a stack's ---- */

struct search {
    enum futex_kind kind;
    bool known;     /* KIND is final, also FUTEX_UNKNOWN */
    bool extension; /* an extension of Python's calls the C library */
};

/* Native code from the wait outwards.  Of the C library's functions the innermost counts, because
 * pthread_cond_wait() waits for its mutex in the end; of the others the outermost, because it gives
 * the whole its meaning.  Returns how many frames there are outside of it. */
static size_t search_native(struct search *s, const struct shown_frame *stack, size_t n)
{
    for (; n; n--) {
        const struct shown_frame *f = &stack[n - 1];
        if (f->guessed)
            continue;
        if (f->kind == SHOWN_PYTHON)
            break;
        bool libc = f->libc || str_starts(f->name, "pthread_");
        const struct known_row *row = lock_of(f);
        if (!row && frame_role(f, true) != ROLE_GLUE)
            break;
        s->extension |= !libc && f->module && strstr(f->module, ".cpython-");
        if (!row || (s->known && (libc || s->kind == FUTEX_LOCK)))
            continue;
        s->kind = (enum futex_kind)row->futex;
        s->known = true;
    }
    return n;
}

/* CPython makes each of its locks of a semaphore; threading.py makes a condition of such a lock,
 * and the rest of that. */
static void search_python(struct search *s, const struct shown_frame *stack, size_t n)
{
    bool lock = s->kind == FUTEX_SEMAPHORE || s->kind == FUTEX_CONDITION;
    if (!lock || s->extension)
        return;
    s->kind = FUTEX_LOCK;
    for (; n && stack[n - 1].kind == SHOWN_PYTHON; n--) {
        const struct known_row *row = lock_of(&stack[n - 1]);
        if (row && row->futex == FUTEX_LOCK)
            return;
        if (row && (s->kind == FUTEX_LOCK || s->kind == FUTEX_CONDITION))
            s->kind = (enum futex_kind)row->futex;
        else if (frame_role(&stack[n - 1], true) != ROLE_GLUE)
            return;
    }
}

enum futex_kind futex_kind(const struct shown_frame *stack, size_t n)
{
    struct search s = {0};
    const struct shown_frame *wait = n ? &stack[n - 1] : NULL;
    if (!wait || wait->kind != SHOWN_WAIT || !wait->call || !str_starts(wait->call, "futex"))
        return FUTEX_UNKNOWN;
    size_t outer = search_native(&s, stack, n - 1);
    if (outer && stack[outer - 1].kind == SHOWN_PYTHON)
        search_python(&s, stack, outer);
    return s.kind;
}

const char *futex_kind_name(enum futex_kind kind)
{
    static const char *const names[] = {
        [FUTEX_LOCK] = "mutex",          [FUTEX_RWLOCK] = "rwlock", [FUTEX_CONDITION] = "condition",
        [FUTEX_SEMAPHORE] = "semaphore", [FUTEX_JOIN] = "join",     [FUTEX_BARRIER] = "barrier",
    };
    return names[kind];
}

const char *futex_kind_words(enum futex_kind kind)
{
    static const char *const words[] = {
        [FUTEX_UNKNOWN] = "",
        [FUTEX_LOCK] = " for a lock",
        [FUTEX_RWLOCK] = " for an rwlock",
        [FUTEX_CONDITION] = " for a condition",
        [FUTEX_SEMAPHORE] = " for a semaphore",
        [FUTEX_JOIN] = " for a thread to end",
        [FUTEX_BARRIER] = " at a barrier",
    };
    return words[kind];
}
