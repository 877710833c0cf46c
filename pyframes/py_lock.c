#include "pyframes/py_lock.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "pyframes/py_dict.h"
#include "pyframes/py_interpreters.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_string.h"

enum {
    MAX_SLOTS = 64,    /* of a value stack that are looked at */
    MAX_STATES = 256,  /* threads; with more there is no holder */
    MAX_FRAMES = 4000, /* of all threads together: some 4 ms */
    MAX_TRIES = 4,     /* to read what changes */
    MAX_TABLE_BYTES = 4096,
    MAX_NAMES = 256,
    TYPE_NAME_BYTES = 16, /* "_thread.RLock" */
};
/* Offsets behind an object's type pointer: a lock's fields, a type's name, a bound builtin method's
 * fields (a bound method of Python's has its function and its self at the same places), a method
 * descriptor's, a function's, a code object's. */
enum {
    LOCK_WORD = 8, /* a pointer to the semaphore, or a PyMutex */
    LOCK_OWNER = 16,
    LOCK_COUNT = 24,
    TYPE_NAME = 16,
    METHOD_DEF = 8,
    METHOD_SELF = 16,
    DESCRIPTOR_DEF = 32,
    FUNCTION_NAME = 24, /* from 3.11 on */
    CODE_NAMES = 24,
    CODE_EXCEPTION_TABLE = 32,
    TUPLE_SIZE = 8,
};
enum { FRAME_VALUE_STACK = 64 }; /* up to 3.10: the pointer to a frame's values */
/* Bits of a PyMutex; where a pointer to a semaphore is instead, they are 0. */
enum { LOCKED = 1, LOCKED_WITH_WAITERS = 3 };
enum { PARKED_FOR = 8 }; /* struct wait_entry: the PyMutex is named so far before its semaphore */

/* ---- the lock that is waited for ---- */

/* The PyMutex for which the thread that waits on SEM is parked; any word if it is not. */
static uint64_t parked_for(struct mem *live, uint64_t sem)
{
    uint64_t mutex;
    return mem_read_u64(live, sem - PARKED_FOR, &mutex) < 0 ? 0 : mutex;
}

/* Is the object at ADDR a lock for which a thread waits on SEM? */
static bool is_lock(const struct py_layout *l, struct mem *live, uint64_t addr, uint64_t sem,
                    struct py_lock *ret)
{
    uint64_t words[2]; /* type, LOCK_WORD */
    uint64_t name_at;
    char name[TYPE_NAME_BYTES] = "";
    uint64_t at = addr + l->object.type;
    static_assert(LOCK_WORD == sizeof *words, "one read has both");
    if (addr == 0 || addr % 8 || mem_read(live, at, words, sizeof words) < 0)
        return false;
    if (words[1] != sem && ((words[1] & LOCKED_WITH_WAITERS) != LOCKED_WITH_WAITERS ||
                            parked_for(live, sem) != at + LOCK_WORD))
        return false;
    if (mem_read_u64(live, words[0] + l->object.type + TYPE_NAME, &name_at) < 0 ||
        mem_read(live, name_at, name, sizeof name - 2) < 0)
        return false;
    ret->addr = addr;
    ret->reentrant = str_eq(name, "_thread.RLock");
    return ret->reentrant || str_eq(name, "_thread.lock");
}

/* The object that the bound builtin method at ADDR is of; 0: unknown, or no such method. */
static uint64_t self_of(const struct py_layout *l, struct mem *live, uint64_t addr)
{
    uint64_t self = 0;
    if (addr && addr % 8 == 0 && mem_read_u64(live, addr + l->object.type + METHOD_SELF, &self) < 0)
        return 0;
    return self;
}

/* Up to MAX_SLOTS values of F's stack, used or not.  Returns how many. */
static size_t read_slots(const struct py_layout *l, struct mem *live, const struct py_frame *f,
                         uint64_t ret[MAX_SLOTS])
{
    uint32_t size;
    uint32_t locals;
    uint64_t start;
    if (l->traits.with_keeps != PY_WITH_KEEPS_BLOCK) {
        if (mem_read_u32(live, f->code + l->code.first_line + 4, &locals) < 0 ||
            mem_read_u32(live, f->code + l->code.first_line - 4, &size) < 0 || locals > 1 << 16)
            return 0;
        start = f->self + l->frame.locals + (uint64_t)8 * locals;
    } else if (l->frame.lasti == PY_ABSENT ||
               mem_read_u32(live, f->code + l->code.first_line - 8, &size) < 0 ||
               mem_read_u64(live, f->self + l->object.type - 8 + FRAME_VALUE_STACK, &start) < 0) {
        return 0;
    }
    size = size < MAX_SLOTS ? size : MAX_SLOTS;
    return mem_read(live, start, ret, size * sizeof *ret) < 0 ? 0 : size;
}

int py_lock_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                 uint64_t sem, struct py_lock *ret)
{
    const struct py_layout *l = &rt->layout;
    uint64_t slots[MAX_SLOTS];
    if (l->free_threaded)
        return -ENOENT;
    if (is_lock(l, live, parked_for(live, sem) - LOCK_WORD - l->object.type, sem, ret))
        return 0;
    size_t n = read_slots(l, live, f, slots);
    for (size_t i = 0; i < n; i++)
        if (is_lock(l, live, slots[i], sem, ret) ||
            is_lock(l, live, self_of(l, live, slots[i]), sem, ret))
            return 0;
    return -ENOENT;
}

/* ---- RLock ---- */

static int rlock_holder(const struct py_layout *l, struct mem *live, const struct py_lock *lock,
                        uint64_t *ret)
{
    enum { WORD, OWNER, COUNT };
    uint64_t words[3]; /* beside a PyMutex COUNT is how often it was taken again */
    static_assert(LOCK_OWNER == LOCK_WORD + OWNER * (int)sizeof *words, "one read has them");
    static_assert(LOCK_COUNT == LOCK_WORD + COUNT * (int)sizeof *words, "one read has them");
    if (mem_read(live, lock->addr + l->object.type + LOCK_WORD, words, sizeof words) < 0 ||
        words[OWNER] == 0 || (words[COUNT] == 0 && !(words[WORD] & LOCKED)))
        return -ENOENT;
    *ret = words[OWNER];
    return 0;
}

/* ---- with lock: ---- */

/* A number of an exception table: six bits a byte, the first ones first; bit 6: more follow. */
static bool read_number(const uint8_t *table, size_t len, size_t *at, uint32_t *ret)
{
    *ret = 0;
    for (int i = 0; i < 5 && *at < len; i++) {
        uint8_t byte = table[(*at)++];
        *ret = *ret << 6 | (byte & 0x3f);
        if (!(byte & 0x40))
            return true;
    }
    return false;
}

/* How many values F's stack has below what it computes just now, by the entry of the exception
 * table that covers its instruction; 0: none does. */
static uint32_t covered_depth(const uint8_t *table, size_t len, int32_t lasti)
{
    uint32_t index = (uint32_t)lasti / 2;
    for (size_t at = 0; at < len;) {
        uint32_t start;
        uint32_t size;
        uint32_t target;
        uint32_t depth;
        if (!read_number(table, len, &at, &start) || !read_number(table, len, &at, &size) ||
            !read_number(table, len, &at, &target) || !read_number(table, len, &at, &depth) ||
            start > index)
            return 0;
        if (index - start < size)
            return depth >> 1;
    }
    return 0;
}

static uint32_t depth_of(const struct py_layout *l, struct mem *live, const struct py_frame *f)
{
    uint8_t table[MAX_TABLE_BYTES];
    uint64_t object;
    uint64_t data;
    size_t len;
    if (f->lasti < 0 ||
        mem_read_u64(live, f->code + l->object.type + CODE_EXCEPTION_TABLE, &object) < 0 ||
        py_bytes_find(l, live, object, sizeof table, &data, &len) < 0 || len == 0 ||
        mem_read(live, data, table, len) < 0)
        return 0;
    return covered_depth(table, len, f->lasti);
}

/* Is the method whose definition's address is at DEF_AT an __exit__? */
static bool is_exit(struct mem *live, uint64_t def_at)
{
    uint64_t def;
    uint64_t name_at;
    char name[sizeof "__exit__"];
    return mem_read_u64(live, def_at, &def) == 0 && mem_read_u64(live, def, &name_at) == 0 &&
           mem_read(live, name_at, name, sizeof name) == 0 &&
           memcmp(name, "__exit__", sizeof name) == 0;
}

/* What a frame is within. */
enum with { WITH_NONE, WITH_LOCK, WITH_CONDITION };

/* The lock of the Condition at SELF, if FUNCTION, a function of Python's, is its __exit__; else 0.
 * Source: CPython Lib/threading.py (Condition.__init__, __exit__); Include/cpython/funcobject.h. */
static uint64_t lock_of_condition(const struct py_layout *l, struct mem *live, uint64_t function,
                                  uint64_t self)
{
    struct py_dict d;
    uint64_t name;
    struct text text = {0};
    bool exit = function && self && (function | self) % 8 == 0 &&
                mem_read_u64(live, function + l->object.type + FUNCTION_NAME, &name) == 0 &&
                py_string_read(l, live, name, &text) == 0 && text.len && str_eq(text.s, "__exit__");
    text_release(&text);
    if (!exit || py_attributes_read(l, live, self, &d) < 0)
        return 0;
    uint64_t lock = py_dict_find(l, live, &d, "_lock");
    py_dict_release(&d);
    return lock;
}

/* Is the value at I of SLOTS, with the one before it, what `with` keeps of LOCK, or of a Condition
 * that has it? */
static enum with is_kept(const struct py_layout *l, struct mem *live, const uint64_t *slots,
                         size_t i, uint64_t lock)
{
    uint64_t values = ~(uint64_t)l->traits.executable_tags;
    uint64_t method = slots[i] & values;
    uint64_t function = 0;
    if (l->traits.with_keeps == PY_WITH_KEEPS_BOTH) {
        function = i > 0 ? slots[i - 1] & values : 0;
        if (i > 0 && method == lock && is_exit(live, function + l->object.type + DESCRIPTOR_DEF))
            return WITH_LOCK;
        return lock_of_condition(l, live, function, method) == lock ? WITH_CONDITION : WITH_NONE;
    }
    uint64_t self = self_of(l, live, slots[i]);
    if (self == lock)
        return is_exit(live, slots[i] + l->object.type + METHOD_DEF) ? WITH_LOCK : WITH_NONE;
    if (!self || mem_read_u64(live, slots[i] + l->object.type + METHOD_DEF, &function) < 0)
        return WITH_NONE;
    return lock_of_condition(l, live, function, self) == lock ? WITH_CONDITION : WITH_NONE;
}

/* Is F within `with lock:`, or `with condition:` of one that has it? */
static enum with is_within(const struct py_layout *l, struct mem *live, const struct py_frame *f,
                           uint64_t lock)
{
    uint64_t slots[MAX_SLOTS];
    enum with with = WITH_NONE;
    uint32_t depth = depth_of(l, live, f);
    size_t n = depth ? read_slots(l, live, f, slots) : 0;
    for (size_t i = 0; i < n && i < depth && with == WITH_NONE; i++)
        with = is_kept(l, live, slots, i, lock);
    return with;
}

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

/* Does F's code call something that might give a lock up?  A Condition's waits count only while
 * they last. */
static bool may_release(const struct py_layout *l, struct mem *live, const struct py_frame *f,
                        enum with with)
{
    static const char *const calls[] = {"release", "_release_save", NULL};
    uint64_t names;
    uint64_t n = 0;
    bool may = true;
    struct text name = {0};
    if (mem_read_u64(live, f->code + l->object.type + CODE_NAMES, &names) < 0 ||
        mem_read_u64(live, names + l->object.type + TUPLE_SIZE, &n) < 0 || n > MAX_NAMES)
        return true;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t item;
        text_clear(&name);
        if (mem_read_u64(live, py_tuple_items(l, names) + 8 * i, &item) < 0 ||
            py_string_read(l, live, item, &name) < 0)
            goto out;
        if (name.len &&
            (str_is_one_of(name.s, calls) || (with == WITH_LOCK && str_is_one_of(name.s, waits))))
            goto out;
    }
    may = false;
out:
    text_release(&name);
    return may;
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
    enum with with;
};

/* Finds the innermost frame of STATE that is within `with lock:`, or `with condition:` and does not
 * wait there.  False: its frames cannot be read just now. */
static bool find_within(const struct py_runtime *rt, struct mem *live, uint64_t state,
                        uint64_t lock, struct py_stack *stack, int *tries, struct statement *ret)
{
    if (!read_frames(rt, live, state, stack, tries))
        return false;
    *ret = (struct statement){.with = WITH_NONE};
    for (; ret->at < stack->n; ret->at++) {
        ret->with = is_within(&rt->layout, live, &stack->frames[ret->at], lock);
        if (ret->with != WITH_NONE)
            break;
    }
    if (ret->with == WITH_CONDITION && waits_in(&rt->layout, live, stack, ret->at))
        ret->at = stack->n;
    return true;
}

/* Is STATE's thread still within the same statement, without a call that may give LOCK up? */
static bool is_sure(const struct py_runtime *rt, struct mem *live, uint64_t state, uint64_t lock,
                    uint64_t frame, struct py_stack *stack)
{
    struct statement in;
    int tries = MAX_TRIES;
    mem_forget(live);
    if (!find_within(rt, live, state, lock, stack, &tries, &in) || in.at >= stack->n ||
        stack->frames[in.at].self != frame)
        return false;
    for (size_t i = 0; i <= in.at; i++)
        if (may_release(&rt->layout, live, &stack->frames[i], in.with))
            return false;
    return true;
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
    else if (l->traits.with_keeps != PY_WITH_KEEPS_BLOCK && !l->free_threaded)
        r = lock_holder(rt, live, lock->addr, scratch, ret_thread_id);
    mem_forget(live);
    return r == 0 && is_lock(l, live, lock->addr, sem, &still) ? 0 : -ENOENT;
}
