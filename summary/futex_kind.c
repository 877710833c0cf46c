#include "summary/futex_kind.h"

#include <string.h>

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/known.h"
#include "summary/python_module.h"

struct named_kind {
    const char *name;
    enum futex_kind kind;
};

/* Beginnings of the C library's functions, without '_' and "GI_" before them.
 * Source: glibc's nptl/, sysdeps/nptl/; musl's src/thread/. */
static const struct named_kind libc_kinds[] = {
    {"lll_lock_wait", FUTEX_LOCK},
    {"lll_timedlock_wait", FUTEX_LOCK},
    {"lll_clocklock_wait", FUTEX_LOCK},
    {"pthread_mutex_", FUTEX_LOCK},
    {"mtx_", FUTEX_LOCK},
    {"pthread_rwlock_", FUTEX_RWLOCK},
    {"pthread_cond_", FUTEX_CONDITION},
    {"cnd_", FUTEX_CONDITION},
    {"sem_", FUTEX_SEMAPHORE},
    {"new_sem_", FUTEX_SEMAPHORE},
    {"pthread_join", FUTEX_JOIN},
    {"pthread_timedjoin", FUTEX_JOIN},
    {"pthread_clockjoin", FUTEX_JOIN},
    {"thrd_join", FUTEX_JOIN},
    {"lll_wait_tid", FUTEX_JOIN},
    {"lll_timedwait_tid", FUTEX_JOIN},
    {"pthread_barrier_", FUTEX_BARRIER},
};

/* The last components of functions of threading.py, which has one lock of CPython's in all of
 * them. */
static const struct named_kind python_kinds[] = {
    {"wait", FUTEX_CONDITION},
    {"wait_for", FUTEX_CONDITION},
    {"acquire", FUTEX_SEMAPHORE},
    {"join", FUTEX_JOIN},
    {"_join", FUTEX_JOIN},
    {"_wait_for_tstate_lock", FUTEX_JOIN},
    {"_shutdown", FUTEX_JOIN}, /* of all threads that are no daemons, when the program is over */
    {"_wait", FUTEX_BARRIER},
    {"_acquire_restore", FUTEX_LOCK}, /* in Condition.wait, once it was notified */
};

/* ---- one function's ---- */

static const struct named_kind *of_libc(const char *name)
{
    name = frame_libc_name(name);
    for (size_t i = 0; i < sizeof libc_kinds / sizeof *libc_kinds; i++)
        if (str_starts(name, libc_kinds[i].name))
            return &libc_kinds[i];
    return NULL;
}

static const struct named_kind *of_threading(const struct shown_frame *f)
{
    const char *dot = strrchr(f->name, '.'); /* "Condition.wait"; "wait" before CPython 3.11 */
    if (!f->file || !python_file_ends(f->file, "/threading.py"))
        return NULL;
    for (size_t i = 0; i < sizeof python_kinds / sizeof *python_kinds; i++)
        if (str_eq(dot ? dot + 1 : f->name, python_kinds[i].name))
            return &python_kinds[i];
    return NULL;
}

bool futex_is_wait(const struct shown_frame *f)
{
    static const unsigned locks = 1U << FUTEX_LOCK | 1U << FUTEX_RWLOCK;
    const struct named_kind *kind = f->kind == SHOWN_NATIVE && f->libc ? of_libc(f->name) : NULL;
    return kind && !(locks >> kind->kind & 1) &&
           (strstr(f->name, "wait") || strstr(f->name, "join"));
}

bool futex_is_asked_for(const struct shown_frame *f)
{
    /* Beginnings, too.  Source: glibc's nptl/. */
    static const char *const others[] = {"futex", "syscall",   "lll_",  "pthread_",
                                         "thrd_", "call_once", "clone", "internal_syscall_cancel",
                                         NULL};
    const char *name = frame_libc_name(f->name);
    return str_starts_any(name, others) || of_libc(f->name);
}

/* ---- a stack's ---- */

struct search {
    enum futex_kind kind;
    bool known;     /* KIND is final, also FUTEX_UNKNOWN */
    bool extension; /* an extension of Python's calls the C library */
};

/* What F, native code, makes of a futex, or of a lock that is made of one.  False: that is not
 * known, and *RET stays. */
static bool find_native(const struct shown_frame *f, bool libc, enum futex_kind *ret)
{
    const struct named_kind *named = libc ? of_libc(f->name) : NULL;
    const struct known_row *row = libc ? NULL : known_row_of(f, KNOWN_FUTEX);
    if (named)
        *ret = named->kind;
    else if (row)
        *ret = (enum futex_kind)row->futex;
    return named || row;
}

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
        enum futex_kind kind = FUTEX_UNKNOWN;
        bool found = find_native(f, libc, &kind);
        if (!found && frame_role(f, true) != ROLE_GLUE)
            break;
        s->extension |= !libc && f->module && strstr(f->module, ".cpython-");
        if (!found || (s->known && (libc || s->kind == FUTEX_LOCK)))
            continue;
        s->kind = kind;
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
        const struct named_kind *found = of_threading(&stack[n - 1]);
        if (found && found->kind == FUTEX_LOCK)
            return;
        if (found && (s->kind == FUTEX_LOCK || s->kind == FUTEX_CONDITION))
            s->kind = found->kind;
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
