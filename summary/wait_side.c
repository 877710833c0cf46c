#include "summary/wait_side.h"

#include <string.h>

#include "base/text.h"
#include "summary/frame_name.h"
#include "summary/futex_kind.h"
#include "summary/once.h"
#include "summary/short_name.h"

/* The C library's function in which a thread waits, without '_' and "GI_" before it: the innermost
 * one that is no helper of all of them.  Callers' frames that are guesses prove nothing.  NULL:
 * unknown. */
static const char *waiting_function(const struct shown_frame *stack, size_t n)
{
    static const char *const families[] = {"pthread_", "mtx_",     "cnd_", "thrd_",
                                           "sem_",     "new_sem_", NULL};
    for (; n && !stack[n - 1].guessed && stack[n - 1].kind == SHOWN_NATIVE; n--) {
        const struct shown_frame *f = &stack[n - 1];
        const char *name = f->nameless ? "" : frame_libc_name(f->name);
        if (str_starts_any(name, families))
            return name;
        if (!f->libc && !str_starts(name, "lll_") && !str_starts(name, "futex_"))
            return NULL;
    }
    return NULL;
}

static bool agrees(enum wait_thing thing, const char *function)
{
    if (thing == THING_MUTEX)
        return str_starts(function, "pthread_mutex_") || str_starts(function, "mtx_");
    if (thing == THING_RWLOCK)
        return str_starts(function, "pthread_rwlock_");
    return thing == THING_THREAD && strstr(function, "join");
}

/* Is the innermost function of Python's the one in which Thread.join(), or a program that is over,
 * waits? */
static bool is_python_join(const struct shown_frame *stack, size_t n)
{
    static const char *const waiting[] = {"_wait_for_tstate_lock", "Thread._wait_for_tstate_lock",
                                          "Thread.join", "_shutdown", NULL};
    while (n && stack[n - 1].kind != SHOWN_PYTHON)
        n--;
    return n && stack[n - 1].file && path_ends(stack[n - 1].file, "/threading.py") &&
           str_is_one_of(stack[n - 1].name, waiting);
}

/* pthread_join() waits in a static function that it jumps to, so without debug symbols no name of
 * it is on the stack.  The bytes are proof enough then: a word that the kernel clears, which holds
 * the tid of a thread that lives. */
static bool is_nameless_join(const struct wait_side *side, const struct shown_frame *stack,
                             size_t n)
{
    return side->thing == THING_THREAD && side->blocker.kind == BLOCKER_THREAD && n &&
           stack[n - 1].kind == SHOWN_NATIVE && stack[n - 1].libc && stack[n - 1].nameless;
}

bool wait_side_is_kernels(enum wait_thing thing)
{
    return thing == THING_FILE_LOCK || thing == THING_CHILD || thing == THING_PIPE ||
           thing == THING_SOCKET || thing == THING_EVENTS;
}

bool wait_side_is_for_one(const struct wait_side *side)
{
    const struct blocker *b = &side->blocker;
    bool end = b->kind == BLOCKER_PROCESS || b->kind == BLOCKER_PEER;
    bool known = b->net != NET_UDP || b->pid; /* anybody may send to a socket of UDP */
    return side->single || side->thing == THING_PIPE ||
           (side->thing == THING_SOCKET && end && known);
}

/* SIDE, whose functions say that it is for no such lock.  Where it lies is true all the same. */
static struct wait_side without_lock(const struct wait_side *side)
{
    struct wait_side ret = {.timed = side->timed, .expired = side->expired, .inside = side->inside};
    if (side->blocker.kind == BLOCKER_SHARED && !side->blocker.pid)
        ret.blocker = side->blocker;
    return ret;
}

/* Is WAIT, of a thread AT, for what another one makes for all? */
static bool is_once(const struct profile *p, const struct wait *wait, struct view *v,
                    struct spot at)
{
    size_t n = 0;
    if (wait->kind != WAIT_CALL || !str_starts(profile_text(p, wait->call), "futex"))
        return false;
    const struct shown_frame *stack = view_stack(v, at, &n);
    return once_asker(stack, n) != NULL;
}

struct wait_side wait_side_of(const struct profile *p, struct view *v, struct spot at)
{
    const struct wait *wait = profile_see_wait(p, at.wait);
    if (!wait)
        return (struct wait_side){0};
    struct wait_side side = wait->side;
    bool lock = side.thing == THING_PY_LOCK;
    /* A word that is not 0 and is no lock's may look like a thread's id. */
    if ((!side.thing || side.thing == THING_THREAD) && is_once(p, wait, v, at))
        return (struct wait_side){.thing = THING_ONCE, .timed = side.timed, .inside = true};
    if (!side.thing || side.thing == THING_GIL || (lock && side.blocker.kind == BLOCKER_THREAD) ||
        wait_side_is_kernels(side.thing))
        return side;
    size_t n = 0;
    const struct shown_frame *stack = view_stack(v, at, &n);
    if (lock && futex_kind(stack, n) == FUTEX_LOCK) /* else a condition's, a queue's */
        return side;
    while (n && stack[n - 1].kind == SHOWN_WAIT)
        n--;
    if (side.thing == THING_THREAD && is_python_join(stack, n))
        return side;
    if (is_nameless_join(&side, stack, n))
        return side;
    const char *function = waiting_function(stack, n);
    if (!function || !agrees(side.thing, function))
        return without_lock(&side);
    return side;
}

const char *wait_thing_name(enum wait_thing thing)
{
    static const char *const names[THING_KINDS] = {
        [THING_MUTEX] = "mutex", [THING_RWLOCK] = "rwlock", [THING_THREAD] = "join",
        [THING_GIL] = "gil",     [THING_PY_LOCK] = "lock",  [THING_FILE_LOCK] = "file-lock",
        [THING_CHILD] = "child", [THING_PIPE] = "pipe",     [THING_SOCKET] = "socket",
        [THING_EVENTS] = "poll", [THING_ONCE] = "guard",
    };
    return names[thing];
}

const char *wait_thing_words(enum wait_thing thing)
{
    static const char *const words[THING_KINDS] = {
        [THING_UNKNOWN] = "something",
        [THING_MUTEX] = "a mutex",
        [THING_RWLOCK] = "an rwlock",
        [THING_THREAD] = "the end",
        [THING_GIL] = "the GIL",
        [THING_PY_LOCK] = "a lock",
        [THING_FILE_LOCK] = "a file's lock",
        [THING_CHILD] = "a child",
        [THING_PIPE] = "a pipe",
        [THING_SOCKET] = "a socket",
        [THING_EVENTS] = "events",
        [THING_ONCE] = "an initialisation's guard",
    };
    return words[thing];
}

void wait_side_add_thing(struct text *out, const struct profile *p, const struct wait_side *side)
{
    enum { MOST_COLUMNS = 48 };
    const char *name = side->addr ? profile_lock_name(p, side->blocker.pid, side->addr) : "";
    if (*name) {
        text_addf(out, "%s ", wait_thing_name(side->thing));
        short_name_add(out, name, MOST_COLUMNS);
    } else {
        text_add(out, wait_thing_words(side->thing));
    }
}
