#include "pyframes/py_lock.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_interpreters.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_string.h"
#include "pyframes/py_with.h"

enum {
    MAX_STATES = 256,     /* threads; with more there is no holder */
    MAX_FRAMES = 4000,    /* of all threads together: some 4 ms */
    MAX_TRIES = 4,        /* to read what changes */
    TYPE_NAME_BYTES = 16, /* "_thread.RLock" */
};
/* Bits of a PyMutex; where a pointer to a semaphore is instead, they are 0. */
enum { LOCKED = 1, LOCKED_WITH_WAITERS = 3 };

/* ---- the lock that is waited for ---- */

/* The PyMutex for which the thread that waits on SEM is parked; any word if it is not. */
static uint64_t parked_for(struct mem *live, uint64_t sem)
{
    uint64_t mutex;
    return mem_read_u64(live, sem - PY_PARKED_FOR, &mutex) < 0 ? 0 : mutex;
}

/* Is the object at ADDR a lock for which a thread waits on SEM? */
static bool is_lock(const struct py_layout *l, struct mem *live, uint64_t addr, uint64_t sem,
                    struct py_lock *ret)
{
    uint64_t words[2]; /* type, lock */
    uint64_t name_at;
    char name[TYPE_NAME_BYTES] = "";
    uint64_t at = addr + l->object.type;
    static_assert(PY_LOCK_WORD == sizeof *words, "one read has both");
    if (addr == 0 || addr % 8 || mem_read(live, at, words, sizeof words) < 0)
        return false;
    if (words[1] != sem && ((words[1] & LOCKED_WITH_WAITERS) != LOCKED_WITH_WAITERS ||
                            parked_for(live, sem) != at + PY_LOCK_WORD))
        return false;
    if (mem_read_u64(live, words[0] + l->object.type + PY_TYPE_NAME, &name_at) < 0 ||
        mem_read(live, name_at, name, sizeof name - 2) < 0)
        return false;
    ret->addr = addr;
    ret->reentrant = str_eq(name, "_thread.RLock");
    return ret->reentrant || str_eq(name, "_thread.lock");
}

int py_lock_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                 uint64_t sem, struct py_lock *ret)
{
    const struct py_layout *l = &rt->layout;
    uint64_t slots[PY_MAX_SLOTS];
    if (l->free_threaded)
        return -ENOENT;
    if (is_lock(l, live, parked_for(live, sem) - PY_LOCK_WORD - l->object.type, sem, ret))
        return 0;
    size_t n = py_with_slots(l, live, f, slots);
    for (size_t i = 0; i < n; i++)
        if (is_lock(l, live, slots[i], sem, ret) ||
            is_lock(l, live, py_with_self(l, live, slots[i]), sem, ret))
            return 0;
    return -ENOENT;
}

/* ---- RLock ---- */

static int rlock_holder(const struct py_layout *l, struct mem *live, const struct py_lock *lock,
                        uint64_t *ret)
{
    enum { WORD, OWNER, COUNT };
    uint64_t words[3]; /* beside a PyMutex COUNT is how often it was taken again */
    static_assert(PY_LOCK_OWNER == PY_LOCK_WORD + OWNER * (int)sizeof *words, "one read has them");
    static_assert(PY_LOCK_COUNT == PY_LOCK_WORD + COUNT * (int)sizeof *words, "one read has them");
    if (mem_read(live, lock->addr + l->object.type + PY_LOCK_WORD, words, sizeof words) < 0 ||
        words[OWNER] == 0 || (words[COUNT] == 0 && !(words[WORD] & LOCKED)))
        return -ENOENT;
    *ret = words[OWNER];
    return 0;
}

/* ---- with lock: ---- */

static const char *const waits[] = {"wait", "wait_for", NULL};

/* Is F a function that gives the lock of a condition up, and has it again when it returns? */
static bool is_in_wait(const struct py_layout *l, struct mem *live, const struct py_frame *f)
{
    uint64_t name;
    struct text text = {0};
    bool is = mem_read_u64(live, f->code + l->code.name, &name) < 0 ||
              py_string_read(l, live, name, &text) < 0 ||
              (text.len && str_is_one_of(text.s, waits));
    text_release(&text);
    return is;
}

/* Does F's code call something that might give a lock up?  The waits of an object that has the lock
 * count only while they last. */
static bool may_release(const struct py_layout *l, struct mem *live, const struct py_frame *f,
                        enum py_with_kind kind)
{
    static const char *const calls[] = {"release", "_release_save", NULL};
    return py_with_uses(l, live, f->code, calls, true) ||
           (kind == PY_WITH_LOCK && py_with_uses(l, live, f->code, waits, true));
}

/* The frames of STATE.  A thread that runs changes them meanwhile; mostly it has gone on by the
 * next try.  *TRIES: how many there may be, in all. */
static bool read_frames(const struct py_runtime *rt, struct mem *live, uint64_t state,
                        struct py_stack *stack, int *tries)
{
    while (py_walk(rt, live, &state, 1, stack) < 0 || stack->end != PY_WALK_DONE) {
        if (--*tries < 0)
            return false;
        mem_forget(live);
    }
    return true;
}

/* Does STACK, whose frame AT is within `with condition:`, wait for that condition? */
static bool waits_in(const struct py_layout *l, struct mem *live, const struct py_stack *stack,
                     size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_in_wait(l, live, &stack->frames[i]))
            return true;
    return false;
}

/* A frame in such a statement. */
struct statement {
    size_t at; /* in its stack; the stack's length: there is none */
    struct py_with with;
};

/* Finds the innermost frame of STATE that is within a statement that holds LOCK, and does not wait
 * for its condition there.  False: its frames cannot be read just now. */
static bool find_within(const struct py_runtime *rt, struct mem *live, uint64_t state,
                        uint64_t lock, struct py_stack *stack, int *tries, struct statement *ret)
{
    if (!read_frames(rt, live, state, stack, tries))
        return false;
    *ret = (struct statement){.at = 0};
    for (; ret->at < stack->n; ret->at++) {
        ret->with = py_with_find(rt, live, &stack->frames[ret->at], lock);
        if (ret->with.kind != PY_WITH_NONE)
            break;
    }
    if (ret->with.kind == PY_WITH_OWNER && waits_in(&rt->layout, live, stack, ret->at))
        ret->at = stack->n;
    return true;
}

/* Might the thread with STACK, which is within the statement IN, have given its lock up? */
static bool may_have_released(const struct py_layout *l, struct mem *live,
                              const struct py_stack *stack, const struct statement *in)
{
    for (size_t i = 0; i < in->at; i++)
        if (may_release(l, live, &stack->frames[i], in->with.kind))
            return true;
    for (size_t i = 0; i < in->with.n; i++)
        if (may_release(l, live, &in->with.frames[i], in->with.kind))
            return true;
    return false;
}

/* Is STATE's thread still within the same statement, without a call that may give LOCK up? */
static bool is_sure(const struct py_runtime *rt, struct mem *live, uint64_t state, uint64_t lock,
                    uint64_t frame, struct py_stack *stack)
{
    struct statement in;
    int tries = MAX_TRIES;
    mem_forget(live);
    return find_within(rt, live, state, lock, stack, &tries, &in) && in.at < stack->n &&
           stack->frames[in.at].self == frame && !may_have_released(&rt->layout, live, stack, &in);
}

/* Of two candidates one has given it up. */
static int lock_holder(const struct py_runtime *rt, struct mem *live, uint64_t lock,
                       struct py_stack *stack, uint64_t *ret)
{
    uint64_t states[MAX_STATES];
    size_t n = py_interpreters_states(rt, live, states, MAX_STATES);
    size_t frames = 0;
    int tries = MAX_TRIES;
    uint64_t found = 0;
    uint64_t frame = 0;
    for (size_t i = 0; i < n; i++) {
        struct statement in;
        if (n == MAX_STATES || !find_within(rt, live, states[i], lock, stack, &tries, &in))
            return -ENOENT;
        frames += stack->n;
        if (frames > MAX_FRAMES || (found && in.at < stack->n))
            return -ENOENT;
        if (in.at == stack->n)
            continue;
        found = states[i];
        frame = stack->frames[in.at].self;
    }
    if (!found || !is_sure(rt, live, found, lock, frame, stack) ||
        mem_read_u64(live, found + rt->layout.thread.thread_id, ret) < 0)
        return -ENOENT;
    return 0;
}

int py_lock_holder(const struct py_runtime *rt, struct mem *live, const struct py_lock *lock,
                   uint64_t sem, struct py_stack *scratch, uint64_t *ret_thread_id)
{
    const struct py_layout *l = &rt->layout;
    struct py_lock still;
    int r = -ENOENT;
    mem_forget(live);
    if (lock->reentrant)
        r = rlock_holder(l, live, lock, ret_thread_id);
    else if (!l->free_threaded)
        r = lock_holder(rt, live, lock->addr, scratch, ret_thread_id);
    mem_forget(live);
    return r == 0 && is_lock(l, live, lock->addr, sem, &still) ? 0 : -ENOENT;
}
