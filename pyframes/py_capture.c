/* The table from threads to thread states, and the walk that fills a recording. */
#include "pyframes/py_capture.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_code_keep.h"
#include "pyframes/py_gc.h"
#include "pyframes/py_gil.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_walk.h"

enum {
    MAX_INTERPRETERS = 256,
    MAX_THREAD_STATES = 1 << 16,
    AT_ONCE = 48, /* interpreters whose heads are compared by one read */
    /* Ticks for which a list with an entry that is not complete yet is read again each time, and how many
     * lie between two readings in the end: an entry may never become complete. */
    SETTLING_TICKS = 8,
    SELDOM_TICKS = 128,
    MAX_NEW_READS =
        32, /* in a hold, to find the state of one thread that has come since the tick */
    /* Of the data stack, read ahead of the walk: some 5,000 frames. */
    MAX_DATASTACK_BYTES = 512 << 10,
};

struct thread_ids {
    uint64_t next, interp, thread_id, native_id;
};

struct entry {
    uint64_t state, interp, thread_id, next;
    uint64_t same_thread; /* the next entry of that thread, as in by_thread */
};

/* What a change of the lists shows in: new thread states come first.  A new thread may have the address of
 * one that ended, and its state, too: its tid is another. */
struct head {
    uint64_t interp, state, thread_id;
    uint64_t native_id; /* ≤ 3.10: what the C library says */
};

struct py_capture {
    const struct py_runtime *rt;
    uint32_t ids_bytes; /* of a thread state, so that struct thread_ids is there */
    struct head heads[MAX_INTERPRETERS];
    size_t heads_n;
    struct entry *entries;
    size_t n, capacity;
    struct map by_thread;    /* thread_id → index into entries + 1 */
    struct map by_state;     /* state → the same */
    struct map by_tid;       /* tid in the target's namespace → thread_id */
    bool unsettled;          /* something did not agree: to be read again, ever more seldom */
    unsigned age;            /* ticks since the lists changed */
    bool outdated;           /* a capture found that they have: to be read again at once */
    struct py_stack scratch; /* the last capture's */
    struct py_code_keep *codes;
    uint8_t *datastack;
    _Atomic(const struct py_tasks *) tasks; /* NULL: not wanted, or not known yet */
};

static uint32_t ids_bytes(const struct py_layout *l)
{
    uint32_t last = l->thread.next;
    const uint32_t others[] = {l->thread.interp, l->thread.thread_id, l->thread.native_id};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] != PY_ABSENT && others[i] > last)
            last = others[i];
    return last + 8;
}

struct py_capture *py_capture_new(const struct py_runtime *rt)
{
    struct py_capture *c = xcalloc(1, sizeof *c);
    size_t bytes = PY_MAX_FRAMES * sizeof *c->scratch.frames;
    c->rt = rt;
    c->ids_bytes = ids_bytes(&rt->layout);
    c->scratch.frames = xmalloc(bytes);
    c->scratch.capacity = PY_MAX_FRAMES;
    /* Touched now: page faults would lengthen a hold. */
    memset(c->scratch.frames, 0, bytes);
    c->codes = py_code_keep_new(rt);
    c->datastack = xmalloc(MAX_DATASTACK_BYTES);
    memset(c->datastack, 0, MAX_DATASTACK_BYTES);
    return c;
}

void py_capture_tasks(struct py_capture *c, const struct py_tasks *tasks)
{
    atomic_store_explicit(&c->tasks, tasks, memory_order_release);
}

bool py_capture_knows(const struct py_capture *c, pid_t ns_tid)
{
    uint64_t thread_id;
    return map_get(&c->by_tid, (uint64_t)ns_tid, &thread_id);
}

struct py_capture *py_capture_free(struct py_capture *c)
{
    if (!c)
        return NULL;
    map_release(&c->by_thread);
    map_release(&c->by_state);
    map_release(&c->by_tid);
    free(c->entries);
    free(c->scratch.frames);
    py_code_keep_free(c->codes);
    free(c->datastack);
    free(c);
    return NULL;
}

/* ≤ 3.10 have no native id: the C library's own note of the thread's tid serves, in what
 * pthread_self() points to.  Offsets: glibc's struct pthread (x86-64, 2.4 to 2.41), musl's 1.2.
 * What is at the other library's offset is a pointer or random, and no thread's tid. */
enum { TID_PLACES = 2 };
static const uint32_t tid_offsets[TID_PLACES] = {0x2d0, 0x30};

static bool is_tid(uint32_t tid)
{
    enum { MAX_TID = 1 << 22 }; /* the kernel's PID_MAX_LIMIT */
    return tid > 0 && tid <= MAX_TID;
}

static uint64_t tids_in(const uint32_t words[TID_PLACES])
{
    uint64_t ret = 0;
    for (size_t i = 0; i < TID_PLACES; i++)
        ret = ret << 32 | (is_tid(words[i]) ? words[i] : 0);
    return ret;
}

static uint64_t read_tids(struct mem *live, uint64_t thread_id)
{
    uint32_t words[TID_PLACES] = {0};
    for (size_t i = 0; thread_id && i < TID_PLACES; i++)
        if (mem_read_u32(live, thread_id + tid_offsets[i], &words[i]) < 0)
            words[i] = 0;
    return tids_in(words);
}

static struct thread_ids ids_in(const struct py_capture *c, const uint8_t *bytes)
{
    const struct py_layout *l = &c->rt->layout;
    return (struct thread_ids){
        .next = py_layout_word(bytes, l->thread.next),
        .interp = py_layout_word(bytes, l->thread.interp),
        .thread_id = py_layout_word(bytes, l->thread.thread_id),
        .native_id = py_layout_word(bytes, l->thread.native_id),
    };
}

static int read_ids(const struct py_capture *c, struct mem *mem, uint64_t state,
                    struct thread_ids *ret)
{
    uint8_t bytes[PY_THREAD_MAX_BYTES];
    int r = mem_read(mem, state, bytes, c->ids_bytes);
    if (r < 0)
        return r;
    *ret = ids_in(c, bytes);
    return 0;
}

/* Reads what tells a changed list from an unchanged one.  Returns how many interpreters there are,
 * at most MAX_INTERPRETERS. */
static size_t read_heads(const struct py_capture *c, struct mem *live, struct head *ret)
{
    const struct py_layout *l = &c->rt->layout;
    uint64_t interp;
    size_t n = 0;
    if (mem_read_u64(live, c->rt->addr + l->runtime.interpreters, &interp) < 0)
        return 0;
    while (interp != 0 && n < MAX_INTERPRETERS) {
        struct head h = {.interp = interp};
        struct thread_ids ids = {0};
        if (mem_read_u64(live, interp + l->interp.threads, &h.state) < 0 ||
            mem_read_u64(live, interp + l->interp.next, &interp) < 0)
            break;
        if (h.state != 0 && read_ids(c, live, h.state, &ids) == 0) {
            h.thread_id = ids.thread_id;
            h.native_id =
                l->thread.native_id == PY_ABSENT ? read_tids(live, ids.thread_id) : ids.native_id;
        }
        ret[n++] = h;
    }
    return n;
}

/* What lies where a head's words lay. */
struct head_now {
    uint64_t next; /* of the list of interpreters */
    uint64_t state;
    uint8_t ids[PY_THREAD_MAX_BYTES];
    uint32_t tids[TID_PLACES];
};
enum { HEAD_SPANS = 3 + TID_PLACES };

/* Asks for the words of head I, but for its own address.  Returns how many spans that takes. */
static size_t ask_for_head(const struct py_capture *c, size_t i, struct head_now *now,
                           struct mem_span *spans)
{
    const struct py_layout *l = &c->rt->layout;
    const struct head *h = &c->heads[i];
    bool wants_tids = h->thread_id && l->thread.native_id == PY_ABSENT;
    size_t n = 0;
    spans[n++] = (struct mem_span){h->interp + l->interp.threads, &now[i].state, 8};
    spans[n++] = (struct mem_span){h->interp + l->interp.next, &now[i + 1].next, 8};
    if (h->state)
        spans[n++] = (struct mem_span){h->state, now[i].ids, c->ids_bytes};
    for (size_t k = 0; wants_tids && k < TID_PLACES; k++)
        spans[n++] = (struct mem_span){h->thread_id + tid_offsets[k], &now[i].tids[k], 4};
    return n;
}

static bool head_is(const struct py_capture *c, const struct head *h, const struct head_now *now)
{
    struct thread_ids ids = h->state ? ids_in(c, now->ids) : (struct thread_ids){0};
    if (c->rt->layout.thread.native_id == PY_ABSENT)
        ids.native_id = h->thread_id ? tids_in(now->tids) : 0;
    return now->next == h->interp && now->state == h->state && ids.thread_id == h->thread_id &&
           ids.native_id == h->native_id;
}

/* Is what read_heads() would read what it read last?  Everything is where it was then, if so, and takes
 * one system call. */
static bool heads_are_same(const struct py_capture *c, struct mem *live)
{
    struct head_now now[AT_ONCE + 1];
    struct mem_span spans[1 + HEAD_SPANS * AT_ONCE];
    static_assert(sizeof spans / sizeof *spans <= MEM_MAX_SPANS, "one read");
    size_t n = 0;
    size_t bytes = 0;
    if (c->heads_n == 0 || c->heads_n > AT_ONCE)
        return false;
    spans[n++] =
        (struct mem_span){c->rt->addr + c->rt->layout.runtime.interpreters, &now[0].next, 8};
    for (size_t i = 0; i < c->heads_n; i++)
        n += ask_for_head(c, i, now, &spans[n]);
    for (size_t i = 0; i < n; i++)
        bytes += spans[i].len;
    if (mem_read_spans(live, spans, n) != bytes || now[c->heads_n].next != 0)
        return false;
    for (size_t i = 0; i < c->heads_n; i++)
        if (!head_is(c, &c->heads[i], &now[i]))
            return false;
    return true;
}

static void note_tids(struct py_capture *c, struct mem *live, uint64_t thread_id)
{
    for (size_t i = 0; i < TID_PLACES; i++) {
        uint32_t tid;
        uint64_t known;
        if (mem_read_u32(live, thread_id + tid_offsets[i], &tid) == 0 && is_tid(tid) &&
            !map_get(&c->by_tid, tid, &known))
            map_put(&c->by_tid, tid, thread_id);
    }
}

static void add_entry(struct py_capture *c, struct mem *live, uint64_t state,
                      const struct thread_ids *ids)
{
    struct entry e = {state, ids->interp, ids->thread_id, ids->next, 0};
    bool has_native = c->rt->layout.thread.native_id != PY_ABSENT;
    /* Before a thread has begun, these are 0, or (≤ 3.11) those of the thread that made it. */
    if (ids->thread_id == 0 || (has_native && ids->native_id == 0)) {
        c->unsettled = true;
        return;
    }
    if (map_get(&c->by_thread, ids->thread_id, &e.same_thread)) {
        if (c->entries[e.same_thread - 1].interp == ids->interp)
            c->unsettled = true;
    } else if (has_native) {
        map_put(&c->by_tid, ids->native_id, ids->thread_id);
    } else {
        note_tids(c, live, ids->thread_id);
    }
    c->entries = array_reserve(c->entries, &c->capacity, c->n + 1, sizeof *c->entries);
    c->entries[c->n++] = e;
    map_put(&c->by_thread, ids->thread_id, c->n);
    map_put(&c->by_state, state, c->n);
}

/* The thread states of one interpreter.  The list may change under the reader.  STEPS: of all lists so far. */
static void read_list(struct py_capture *c, struct mem *live, const struct head *h, size_t *steps)
{
    struct thread_ids ids;
    for (uint64_t state = h->state; state != 0; state = ids.next) {
        if (++*steps > MAX_THREAD_STATES || read_ids(c, live, state, &ids) < 0 ||
            ids.interp != h->interp) {
            c->unsettled = true;
            return;
        }
        add_entry(c, live, state, &ids);
    }
}

static bool heads_changed(struct py_capture *c, struct mem *live)
{
    struct head heads[MAX_INTERPRETERS];
    if (heads_are_same(c, live))
        return false;
    size_t n = read_heads(c, live, heads);
    if (n == c->heads_n && memcmp(heads, c->heads, n * sizeof *heads) == 0)
        return false;
    memcpy(c->heads, heads, n * sizeof *heads);
    c->heads_n = n;
    return true;
}

/* Are the lists, which have not changed, to be read again all the same? */
static bool is_doubtful(struct py_capture *c)
{
    c->age++;
    bool now =
        c->age <= SETTLING_TICKS || (c->age & (c->age - 1)) == 0 || c->age % SELDOM_TICKS == 0;
    return c->unsettled && now;
}

void py_capture_tick(struct py_capture *c, struct mem *live)
{
    if (heads_changed(c, live) || c->outdated)
        c->age = 0;
    else if (!is_doubtful(c))
        return;
    c->n = 0;
    c->unsettled = c->outdated = false;
    map_clear(&c->by_thread);
    map_clear(&c->by_state);
    map_clear(&c->by_tid);
    size_t steps = 0;
    for (size_t i = 0; i < c->heads_n; i++)
        read_list(c, live, &c->heads[i], &steps);
}

/* Fills STATES with those of THREAD that are still what the table says. */
static uint32_t find_states(struct py_capture *c, struct mem *recording, uint64_t thread,
                            uint64_t *states, uint32_t max)
{
    uint64_t at = 0;
    uint32_t n = 0;
    (void)map_get(&c->by_thread, thread, &at);
    while (at != 0 && n < max) {
        const struct entry *e = &c->entries[at - 1];
        struct thread_ids ids;
        if (read_ids(c, recording, e->state, &ids) == 0 && ids.interp == e->interp &&
            ids.thread_id == e->thread_id) {
            states[n++] = e->state;
        } else {
            c->outdated = true;
        }
        at = e->same_thread;
    }
    return n;
}

/* Has STATE been where it is in the lists since the tick?  Its thread may have freed it meanwhile and got its
 * address again for a new one, or another has: then what follows it may be new, too. */
static bool was_there(const struct py_capture *c, uint64_t state, const struct thread_ids *ids)
{
    uint64_t at;
    if (!map_get(&c->by_state, state, &at))
        return false;
    const struct entry *e = &c->entries[at - 1];
    return e->interp == ids->interp && e->thread_id == ids->thread_id && e->next == ids->next;
}

/* FS_BASE 0: unknown. */
static bool is_of(const struct py_capture *c, struct mem *recording, const struct thread_ids *ids,
                  pid_t ns_tid, uint64_t fs_base)
{
    if (fs_base)
        return ids->thread_id == fs_base;
    if (c->rt->layout.thread.native_id != PY_ABSENT)
        return ids->native_id == (uint64_t)ns_tid;
    uint64_t tids = read_tids(recording, ids->thread_id);
    return tids >> 32 == (uint64_t)ns_tid || (uint32_t)tids == (uint32_t)ns_tid;
}

/* The states of a thread that came since the tick: they are in front of those that were there then.  A
 * thread without any costs two words of each list, which come with the stack the next time. */
static uint32_t find_new_states(const struct py_capture *c, struct mem *recording, pid_t ns_tid,
                                uint64_t fs_base, uint64_t *states, uint32_t max)
{
    const struct py_layout *l = &c->rt->layout;
    uint32_t n = 0;
    int left = MAX_NEW_READS;
    for (size_t i = 0; i < c->heads_n && left > 0; i++) {
        uint64_t interp = c->heads[i].interp;
        uint64_t state = 0;
        struct thread_ids ids;
        left--;
        (void)mem_read_u64(recording, interp + l->interp.threads, &state);
        for (; state && left > 0 && n < max; state = ids.next) {
            left--;
            if (read_ids(c, recording, state, &ids) < 0 || ids.interp != interp ||
                was_there(c, state, &ids))
                break;
            if (is_of(c, recording, &ids, ns_tid, fs_base))
                states[n++] = state;
        }
    }
    return n;
}

/* 3.11 and later: most frames lie one behind the other in chunks, newest last.  Read whole, they
 * come with a call per chunk instead of one per few frames.  Only to be quick: the walk reads what
 * this does not, so errors do not matter. */
static void read_datastack(struct py_capture *c, struct mem *recording, uint64_t state)
{
    /* struct _stack_chunk: previous, size, top (in words of data, once it is not the newest any
     * more), data. */
    enum { TOP = 16, DATA = 24, MAX_CHUNKS = 64 };
    const struct py_layout *l = &c->rt->layout;
    uint64_t chunk, end, words, left = MAX_DATASTACK_BYTES;
    if (l->thread.datastack == PY_ABSENT ||
        mem_read_u64(recording, state + l->thread.datastack, &chunk) < 0 ||
        mem_read_u64(recording, state + l->thread.datastack + 8, &end) < 0)
        return;
    for (int i = 0; i < MAX_CHUNKS && end > chunk && end - chunk <= left; i++) {
        left -= end - chunk;
        if (mem_read(recording, chunk, c->datastack, end - chunk) < 0 ||
            mem_read_u64(recording, chunk, &chunk) < 0 || chunk == 0 ||
            mem_read_u64(recording, chunk + TOP, &words) < 0 || words > left)
            return;
        end = chunk + DATA + words * 8;
    }
}

static int walk(struct py_capture *c, struct mem *recording, const uint64_t *states, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        read_datastack(c, recording, states[i]);
    return n ? py_walk(c->rt, recording, states, n, &c->scratch) : 0;
}

/* Fills STATES with those of the thread, and walks their frames. */
static uint32_t walk_states(struct py_capture *c, struct mem *recording, pid_t ns_tid,
                            uint64_t fs_base, uint64_t *states, uint32_t max, int *ret_error)
{
    uint64_t thread = fs_base;
    uint32_t n = 0;
    c->scratch.n = 0;
    if (thread != 0 || map_get(&c->by_tid, (uint64_t)ns_tid, &thread))
        n = find_states(c, recording, thread, states, max);
    *ret_error = walk(c, recording, states, n);
    /* Without a frame they may also be what is left of states that were freed since the tick. */
    uint64_t found[MAX_NEW_READS];
    uint32_t found_n = 0;
    if (c->scratch.n == 0)
        found_n = find_new_states(c, recording, ns_tid, fs_base, found,
                                  max < MAX_NEW_READS ? max : MAX_NEW_READS);
    if (found_n == 0)
        return n;
    memcpy(states, found, found_n * sizeof *found);
    *ret_error = walk(c, recording, states, found_n);
    return found_n;
}

uint32_t py_capture_thread(struct py_capture *c, struct mem *recording, pid_t ns_tid,
                           uint64_t fs_base, uint64_t *thread_states, uint32_t max,
                           bool *ret_incomplete)
{
    int error;
    uint32_t n = walk_states(c, recording, ns_tid, fs_base, thread_states, max, &error);
    if (n == 0)
        return 0;
    if (error < 0)
        *ret_incomplete = true;
    for (uint32_t i = 0; c->scratch.n == 0 && i < n; i++)
        py_walk_keep_callers(c->rt, recording, thread_states[i], &c->scratch);
    (void)py_gil_state(c->rt, recording, thread_states, n, -1, 0);
    for (uint32_t i = 0; i < n; i++)
        py_gc_keep(c->rt, recording, thread_states[i]);
    const struct py_tasks *tasks = atomic_load_explicit(&c->tasks, memory_order_acquire);
    for (uint32_t i = 0; tasks && i < n; i++)
        py_task_keep(tasks, recording, thread_states[i]);
    py_code_keep_stack(c->codes, recording, &c->scratch);
    return n;
}

void py_capture_undo(struct py_capture *c)
{
    py_code_keep_undo(c->codes, &c->scratch);
}
