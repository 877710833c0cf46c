#include "waits/futex_lock.h"

#include <linux/futex.h>

/* Offsets in pthread_mutex_t. */
enum { MUTEX_OWNER = 8, MUTEX_KIND = 16 };
/* Bits of a mutex's kind beside its type, which is 0 to 3. */
enum {
    KIND_LAST_TYPE = 3,
    KIND_ROBUST = 0x10,
    KIND_PI = 0x20,
    KIND_SHARED = 0x80,
    KIND_NO_ELISION = 0x200,
};
/* The word of a mutex: 0 free, 1 taken, 2 taken and maybe waited for. */
enum { WORD_TAKEN = 1, WORD_WAITED = 2 };
/* Offsets in pthread_rwlock_t, and bits of its words. */
enum {
    RWLOCK_READERS = 0,
    RWLOCK_PHASE_FUTEX = 8,
    RWLOCK_WRITERS_FUTEX = 12,
    RWLOCK_WRITER = 24,
    RWLOCK_WRITE_PHASE = 1,
    RWLOCK_WRITE_LOCKED = 2,
    RWLOCK_PHASE_IS_READ = 2, /* the word while a writer waits for readers to go */
    RWLOCK_WAITED = 3,        /* all others */
};

/* In struct pthread, from the thread's tid. */
enum { THREAD_ROBUST_LIST = 16 };

/* One call futex(2) that waits. */
struct futex_call {
    struct mem *mem;
    uint64_t addr;
    uint32_t val;
    int op; /* without its flags */
    bool shared, timed;
};

static struct futex_call call_of(const uint64_t args[6], struct mem *mem)
{
    int op = (int)args[1] & FUTEX_CMD_MASK;
    return (struct futex_call){.mem = mem,
                               .addr = args[0],
                               .val = (uint32_t)args[2],
                               .op = op,
                               .shared = !(args[1] & FUTEX_PRIVATE_FLAG),
                               .timed = args[3] != 0};
}

static bool is_wait(const struct futex_call *c)
{
    return c->op == FUTEX_WAIT || c->op == FUTEX_WAIT_BITSET;
}

static bool is_pi(const struct futex_call *c)
{
    enum { LOCK_PI2 = 13 }; /* FUTEX_LOCK_PI2 of Linux 5.14 */
    return c->op == FUTEX_LOCK_PI || c->op == LOCK_PI2;
}

static struct futex_lock found(const struct futex_call *c, enum wait_thing thing, uint64_t addr,
                               uint32_t owner)
{
    bool known = owner && owner <= FUTEX_TID_MASK;
    return (struct futex_lock){.thing = thing,
                               .owner = known ? (pid_t)owner : 0,
                               .addr = addr,
                               .shared = c->shared,
                               .timed = c->timed};
}

/* A normal, recursive, error checking or adaptive one: its owner has a field of its own, written
 * after it is taken and cleared before it is given up. */
static struct futex_lock decode_plain(const struct futex_call *c, uint32_t word, uint32_t kind)
{
    uint32_t owner;
    uint32_t type = kind & ~(uint32_t)(KIND_SHARED | KIND_NO_ELISION);
    if (c->val != WORD_WAITED || type > KIND_LAST_TYPE ||
        mem_read_u32(c->mem, c->addr + MUTEX_OWNER, &owner) < 0)
        return found(c, THING_UNKNOWN, 0, 0);
    bool taken = word == WORD_TAKEN || word == WORD_WAITED;
    return found(c, THING_MUTEX, c->addr, taken ? owner : 0);
}

/* The word of a robust or priority inheriting one is its owner. */
static struct futex_lock decode_owner_word(const struct futex_call *c, uint32_t word, uint32_t kind)
{
    uint32_t flags = kind & ~(uint32_t)(KIND_SHARED | KIND_NO_ELISION | KIND_LAST_TYPE);
    uint32_t owner = word & FUTEX_TID_MASK;
    /* It waits with the word of that time; the lock may have changed hands since. */
    if (is_wait(c) && flags == KIND_ROBUST && c->val & FUTEX_WAITERS)
        return found(c, THING_MUTEX, c->addr, owner);
    if (is_pi(c) && (flags & ~(uint32_t)KIND_ROBUST) == KIND_PI)
        return found(c, THING_MUTEX, c->addr, owner);
    return found(c, THING_UNKNOWN, 0, 0);
}

static struct futex_lock decode_mutex(const struct futex_call *c)
{
    uint32_t word;
    uint32_t kind;
    if (!(is_wait(c) || is_pi(c)) || mem_read_u32(c->mem, c->addr, &word) < 0 ||
        mem_read_u32(c->mem, c->addr + MUTEX_KIND, &kind) < 0)
        return found(c, THING_UNKNOWN, 0, 0);
    struct futex_lock lock = found(c, THING_UNKNOWN, 0, 0);
    if (is_wait(c))
        lock = decode_plain(c, word, kind);
    return lock.thing ? lock : decode_owner_word(c, word, kind);
}

/* A lock at ADDR that a writer has. */
static struct futex_lock decode_rwlock_at(const struct futex_call *c, uint64_t addr)
{
    uint32_t readers;
    uint32_t writer;
    const uint32_t taken = RWLOCK_WRITE_PHASE | RWLOCK_WRITE_LOCKED;
    if (mem_read_u32(c->mem, addr + RWLOCK_READERS, &readers) < 0 ||
        mem_read_u32(c->mem, addr + RWLOCK_WRITER, &writer) < 0 || (readers & taken) != taken ||
        !writer)
        return found(c, THING_UNKNOWN, 0, 0);
    return found(c, THING_RWLOCK, addr, writer);
}

/* An rwlock's word, or another one with such a value. */
static bool may_be_rwlock(const struct futex_call *c)
{
    return c->op == FUTEX_WAIT_BITSET &&
           (c->val == RWLOCK_PHASE_IS_READ || c->val == RWLOCK_WAITED) && c->addr >= RWLOCK_WRITER;
}

/* The word is one of two of the lock.  If both readings fit there is no answer. */
static struct futex_lock decode_rwlock(const struct futex_call *c)
{
    if (!may_be_rwlock(c))
        return found(c, THING_UNKNOWN, 0, 0);
    struct futex_lock phase = decode_rwlock_at(c, c->addr - RWLOCK_PHASE_FUTEX);
    struct futex_lock writers = decode_rwlock_at(c, c->addr - RWLOCK_WRITERS_FUTEX);
    bool is_flag = c->shared && phase.owner == 1; /* pthread_rwlock_t's `shared` lies there */
    if (is_flag || (phase.thing && writers.thing))
        return is_flag ? writers : found(c, THING_UNKNOWN, 0, 0);
    return phase.thing ? phase : writers;
}

/* The kernel sets a thread's tid to 0 when it ends, and wakes the threads that wait for that.  In a
 * small pid namespace the words of locks are tids, too: behind a tid a thread without robust
 * mutexes has a list that leads to itself. */
static struct futex_lock decode_join(const struct futex_call *c)
{
    uint32_t tid;
    uint64_t list = 0;
    if (!is_wait(c) || !c->shared || !c->val || c->val > FUTEX_TID_MASK ||
        mem_read_u32(c->mem, c->addr, &tid) < 0 || tid != c->val)
        return found(c, THING_UNKNOWN, 0, 0);
    if (tid <= RWLOCK_WAITED && (mem_read_u64(c->mem, c->addr + THREAD_ROBUST_LIST, &list) < 0 ||
                                 list != c->addr + THREAD_ROBUST_LIST))
        return found(c, THING_UNKNOWN, 0, 0);
    struct futex_lock thread = found(c, THING_THREAD, 0, tid);
    thread.shared = false; /* only the kernel takes it for a shared one */
    return thread;
}

/* One function for each kind of lock; the first ones are met most. */
typedef struct futex_lock decode_kind(const struct futex_call *c);
static decode_kind *const kinds[] = {decode_mutex, decode_rwlock, decode_join};

struct futex_lock futex_lock_decode(const uint64_t args[6], struct mem *mem)
{
    struct futex_call c = call_of(args, mem);
    struct futex_lock lock = found(&c, THING_UNKNOWN, 0, 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !lock.owner; i++) {
        struct futex_lock other = kinds[i](&c);
        lock = other.thing ? other : lock;
    }
    lock.passing = !lock.thing && may_be_rwlock(&c);
    return lock;
}
