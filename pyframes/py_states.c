/* Which thread states there are, and of which threads they are. */
#include "pyframes/py_states.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_layout.h"

enum {
    MAX_INTERPRETERS = 256,
    MAX_THREAD_STATES = 1 << 16,
    STEP_STATES = 32, /* read by one call: some 25 µs */
    AT_ONCE = 48,     /* interpreters whose heads are compared by one read */
    /* Ticks for which a list with an entry that is not complete yet is read again each time, and how many
     * lie between two readings in the end: an entry may never become complete. */
    SETTLING_TICKS = 8,
    SELDOM_TICKS = 128,
    MAX_NEW_READS =
        32, /* in a hold, to find the state of one thread that has come since the tick */
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

struct table {
    struct entry *entries;
    size_t n, capacity;
    struct map by_thread; /* thread_id → index into entries + 1 */
    struct map by_state;  /* state → the same */
    struct map by_tid;    /* tid in the target's namespace → thread_id */
    bool unsettled;       /* something did not agree: to be read again, ever more seldom */
};

struct py_states {
    const struct py_runtime *rt;
    uint32_t ids_bytes; /* of a thread state, so that struct thread_ids is there */
    struct head heads[MAX_INTERPRETERS];
    size_t heads_n;
    struct table table; /* what captures look into */
    struct table next;  /* what is being read; captures may come in between */
    bool reading;
    size_t at_head; /* as far as it was read */
    uint64_t at_state;
    size_t steps;
    unsigned age;  /* ticks since the lists changed */
    bool outdated; /* a capture found that they have: to be read again at once */
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

struct py_states *py_states_new(const struct py_runtime *rt)
{
    struct py_states *s = xcalloc(1, sizeof *s);
    s->rt = rt;
    s->ids_bytes = ids_bytes(&rt->layout);
    return s;
}

static void release(struct table *t)
{
    map_release(&t->by_thread);
    map_release(&t->by_state);
    map_release(&t->by_tid);
    free(t->entries);
}

struct py_states *py_states_free(struct py_states *s)
{
    if (!s)
        return NULL;
    release(&s->table);
    release(&s->next);
    free(s);
    return NULL;
}

bool py_states_knows(const struct py_states *s, pid_t ns_tid)
{
    uint64_t thread_id;
    return map_get(&s->table.by_tid, (uint64_t)ns_tid, &thread_id);
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

static struct thread_ids ids_in(const struct py_states *s, const uint8_t *bytes)
{
    const struct py_layout *l = &s->rt->layout;
    return (struct thread_ids){
        .next = py_layout_word(bytes, l->thread.next),
        .interp = py_layout_word(bytes, l->thread.interp),
        .thread_id = py_layout_word(bytes, l->thread.thread_id),
        .native_id = py_layout_word(bytes, l->thread.native_id),
    };
}

static int read_ids(const struct py_states *s, struct mem *mem, uint64_t state,
                    struct thread_ids *ret)
{
    uint8_t bytes[PY_THREAD_MAX_BYTES];
    int r = mem_read(mem, state, bytes, s->ids_bytes);
    if (r < 0)
        return r;
    *ret = ids_in(s, bytes);
    return 0;
}

/* Reads what tells a changed list from an unchanged one.  Returns how many interpreters there are,
 * at most MAX_INTERPRETERS. */
static size_t read_heads(const struct py_states *s, struct mem *live, struct head *ret)
{
    const struct py_layout *l = &s->rt->layout;
    uint64_t interp;
    size_t n = 0;
    if (mem_read_u64(live, s->rt->addr + l->runtime.interpreters, &interp) < 0)
        return 0;
    while (interp != 0 && n < MAX_INTERPRETERS) {
        struct head h = {.interp = interp};
        struct thread_ids ids = {0};
        if (mem_read_u64(live, interp + l->interp.threads, &h.state) < 0 ||
            mem_read_u64(live, interp + l->interp.next, &interp) < 0)
            break;
        if (h.state != 0 && read_ids(s, live, h.state, &ids) == 0) {
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
static size_t ask_for_head(const struct py_states *s, size_t i, struct head_now *now,
                           struct mem_span *spans)
{
    const struct py_layout *l = &s->rt->layout;
    const struct head *h = &s->heads[i];
    bool wants_tids = h->thread_id && l->thread.native_id == PY_ABSENT;
    size_t n = 0;
    spans[n++] = (struct mem_span){h->interp + l->interp.threads, &now[i].state, 8};
    spans[n++] = (struct mem_span){h->interp + l->interp.next, &now[i + 1].next, 8};
    if (h->state)
        spans[n++] = (struct mem_span){h->state, now[i].ids, s->ids_bytes};
    for (size_t k = 0; wants_tids && k < TID_PLACES; k++)
        spans[n++] = (struct mem_span){h->thread_id + tid_offsets[k], &now[i].tids[k], 4};
    return n;
}

static bool head_is(const struct py_states *s, const struct head *h, const struct head_now *now)
{
    struct thread_ids ids = h->state ? ids_in(s, now->ids) : (struct thread_ids){0};
    if (s->rt->layout.thread.native_id == PY_ABSENT)
        ids.native_id = h->thread_id ? tids_in(now->tids) : 0;
    return now->next == h->interp && now->state == h->state && ids.thread_id == h->thread_id &&
           ids.native_id == h->native_id;
}

/* Is what read_heads() would read what it read last?  Everything is where it was then, if so, and takes
 * one system call. */
static bool heads_are_same(const struct py_states *s, struct mem *live)
{
    struct head_now now[AT_ONCE + 1];
    struct mem_span spans[1 + HEAD_SPANS * AT_ONCE];
    static_assert(sizeof spans / sizeof *spans <= MEM_MAX_SPANS, "one read");
    size_t n = 0;
    size_t bytes = 0;
    if (s->heads_n == 0 || s->heads_n > AT_ONCE)
        return false;
    spans[n++] =
        (struct mem_span){s->rt->addr + s->rt->layout.runtime.interpreters, &now[0].next, 8};
    for (size_t i = 0; i < s->heads_n; i++)
        n += ask_for_head(s, i, now, &spans[n]);
    for (size_t i = 0; i < n; i++)
        bytes += spans[i].len;
    if (mem_read_spans(live, spans, n) != bytes || now[s->heads_n].next != 0)
        return false;
    for (size_t i = 0; i < s->heads_n; i++)
        if (!head_is(s, &s->heads[i], &now[i]))
            return false;
    return true;
}

static void note_tids(struct table *t, struct mem *live, uint64_t thread_id)
{
    for (size_t i = 0; i < TID_PLACES; i++) {
        uint32_t tid;
        uint64_t known;
        if (mem_read_u32(live, thread_id + tid_offsets[i], &tid) == 0 && is_tid(tid) &&
            !map_get(&t->by_tid, tid, &known))
            map_put(&t->by_tid, tid, thread_id);
    }
}

static void add_entry(struct table *t, struct mem *live, uint64_t state,
                      const struct thread_ids *ids, bool has_native)
{
    struct entry e = {state, ids->interp, ids->thread_id, ids->next, 0};
    /* Before a thread has begun, these are 0, or (≤ 3.11) those of the thread that made it. */
    if (ids->thread_id == 0 || (has_native && ids->native_id == 0)) {
        t->unsettled = true;
        return;
    }
    if (map_get(&t->by_thread, ids->thread_id, &e.same_thread)) {
        if (t->entries[e.same_thread - 1].interp == ids->interp)
            t->unsettled = true;
    } else if (has_native) {
        map_put(&t->by_tid, ids->native_id, ids->thread_id);
    } else {
        note_tids(t, live, ids->thread_id);
    }
    t->entries = array_reserve(t->entries, &t->capacity, t->n + 1, sizeof *t->entries);
    t->entries[t->n++] = e;
    map_put(&t->by_thread, ids->thread_id, t->n);
    map_put(&t->by_state, state, t->n);
}

static void begin(struct py_states *s)
{
    struct table *t = &s->next;
    t->n = 0;
    t->unsettled = false;
    map_clear(&t->by_thread);
    map_clear(&t->by_state);
    map_clear(&t->by_tid);
    s->reading = true;
    s->outdated = false;
    s->at_head = s->steps = 0;
    s->at_state = s->heads_n ? s->heads[0].state : 0;
}

/* Reads the next state of the list it is in.  The list may change under the reader. */
static void read_next(struct py_states *s, struct mem *live)
{
    bool has_native = s->rt->layout.thread.native_id != PY_ABSENT;
    struct thread_ids ids;
    if (++s->steps > MAX_THREAD_STATES || read_ids(s, live, s->at_state, &ids) < 0 ||
        ids.interp != s->heads[s->at_head].interp) {
        s->next.unsettled = true;
        s->at_state = 0;
        return;
    }
    add_entry(&s->next, live, s->at_state, &ids, has_native);
    s->at_state = ids.next;
}

/* Returns whether there is more to read; if not, what was read is what counts from now on. */
static bool read_some(struct py_states *s, struct mem *live)
{
    for (int i = 0; s->at_head < s->heads_n;) {
        if (s->at_state == 0) {
            s->at_head++;
            s->at_state = s->at_head < s->heads_n ? s->heads[s->at_head].state : 0;
            continue;
        }
        if (i++ == STEP_STATES)
            return true;
        read_next(s, live);
    }
    struct table old = s->table;
    s->table = s->next;
    s->next = old;
    s->reading = false;
    return false;
}

static bool heads_changed(struct py_states *s, struct mem *live)
{
    struct head heads[MAX_INTERPRETERS];
    if (heads_are_same(s, live))
        return false;
    size_t n = read_heads(s, live, heads);
    if (n == s->heads_n && memcmp(heads, s->heads, n * sizeof *heads) == 0)
        return false;
    memcpy(s->heads, heads, n * sizeof *heads);
    s->heads_n = n;
    return true;
}

/* Are the lists, which have not changed, to be read again all the same? */
static bool is_doubtful(struct py_states *s)
{
    s->age++;
    bool now =
        s->age <= SETTLING_TICKS || (s->age & (s->age - 1)) == 0 || s->age % SELDOM_TICKS == 0;
    return s->table.unsettled && now;
}

bool py_states_tick(struct py_states *s, struct mem *live)
{
    if (!s->reading) {
        if (heads_changed(s, live) || s->outdated)
            s->age = 0;
        else if (!is_doubtful(s))
            return false;
        begin(s);
    }
    return read_some(s, live);
}

uint32_t py_states_find(struct py_states *s, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                        uint64_t *states, uint32_t max)
{
    uint64_t thread = fs_base;
    uint64_t at = 0;
    uint32_t n = 0;
    if (thread != 0 || map_get(&s->table.by_tid, (uint64_t)ns_tid, &thread))
        (void)map_get(&s->table.by_thread, thread, &at);
    while (at != 0 && n < max) {
        const struct entry *e = &s->table.entries[at - 1];
        struct thread_ids ids;
        if (read_ids(s, recording, e->state, &ids) == 0 && ids.interp == e->interp &&
            ids.thread_id == e->thread_id) {
            states[n++] = e->state;
        } else {
            s->outdated = true;
        }
        at = e->same_thread;
    }
    return n;
}

/* Has STATE been where it is in the lists since the tick?  Its thread may have freed it meanwhile and got its
 * address again for a new one, or another has: then what follows it may be new, too. */
static bool was_there(const struct py_states *s, uint64_t state, const struct thread_ids *ids)
{
    uint64_t at;
    if (!map_get(&s->table.by_state, state, &at))
        return false;
    const struct entry *e = &s->table.entries[at - 1];
    return e->interp == ids->interp && e->thread_id == ids->thread_id && e->next == ids->next;
}

/* FS_BASE 0: unknown. */
static bool is_of(const struct py_states *s, struct mem *recording, const struct thread_ids *ids,
                  pid_t ns_tid, uint64_t fs_base)
{
    if (fs_base)
        return ids->thread_id == fs_base;
    if (s->rt->layout.thread.native_id != PY_ABSENT)
        return ids->native_id == (uint64_t)ns_tid;
    uint64_t tids = read_tids(recording, ids->thread_id);
    return tids >> 32 == (uint64_t)ns_tid || (uint32_t)tids == (uint32_t)ns_tid;
}

uint32_t py_states_find_new(const struct py_states *s, struct mem *recording, pid_t ns_tid,
                            uint64_t fs_base, uint64_t *states, uint32_t max)
{
    const struct py_layout *l = &s->rt->layout;
    uint32_t n = 0;
    int left = MAX_NEW_READS;
    for (size_t i = 0; i < s->heads_n && left > 0; i++) {
        uint64_t interp = s->heads[i].interp;
        uint64_t state = 0;
        struct thread_ids ids;
        left--;
        (void)mem_read_u64(recording, interp + l->interp.threads, &state);
        for (; state && left > 0 && n < max; state = ids.next) {
            left--;
            if (read_ids(s, recording, state, &ids) < 0 || ids.interp != interp ||
                was_there(s, state, &ids))
                break;
            if (is_of(s, recording, &ids, ns_tid, fs_base))
                states[n++] = state;
        }
    }
    return n;
}
