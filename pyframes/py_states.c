#include "pyframes/py_states.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_interpreters.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_pthread.h"

enum {
    MAX_THREAD_STATES = 1 << 16,
    STEP_STATES = 32, /* read by one call: some 25 µs */
    AT_ONCE = 48,     /* interpreters whose heads are compared by one read */
    /* A list with an incomplete entry is read again at each of so many ticks, then ever more
     * seldom, in the end every SELDOM_TICKS: an entry may never become complete. */
    SETTLING_TICKS = 8,
    SELDOM_TICKS = 128,
    MAX_OF_THREAD = 64, /* states of one thread that a capture looks at */
    MAX_NEW_READS = 32, /* in a hold, to find a state that was made since the tick */
};

struct thread_ids {
    uint64_t next, interp, thread_id, native_id;
    uint64_t top, base_frame; /* frame or cframe; see is_idle() */
};

struct thread_state_entry {
    uint64_t state, interp, thread_id, next;
    uint64_t same_thread; /* the next entry of that thread, as in by_thread */
};

/* The first thread state of a list, where a new one is inserted: it shows that the list changed.  A
 * new thread may have the pthread_t of one that ended, and a state at the same address, but not its
 * tid. */
struct list_head {
    uint64_t interp, state, thread_id;
    uint64_t native_id; /* ≤ 3.10: what the C library says */
};

struct state_table {
    struct thread_state_entry *entries;
    size_t n, capacity;
    struct map by_thread; /* thread_id → index into entries + 1 */
    struct map by_state;  /* state → the same */
    struct map by_tid;    /* tid in the target's namespace → thread_id */
    bool unsettled;       /* an entry was incomplete, or read while it changed */
};

struct py_states {
    const struct py_runtime *rt;
    uint32_t ids_bytes; /* of a thread state that contain struct thread_ids */
    struct list_head *heads;
    size_t heads_n, heads_capacity;
    bool too_many;            /* interpreters */
    struct state_table table; /* captures use this one */
    struct state_table next;  /* this one is being read; captures may come in between */
    bool reading;
    size_t at_head;    /* how far it was read: the list, */
    uint64_t at_state; /* and the next state in it */
    size_t steps;
    unsigned age;  /* ticks since the lists changed */
    bool outdated; /* a capture found that they changed: read them again at once */
};

static uint32_t ids_bytes(const struct py_layout *l)
{
    uint32_t last = l->thread.next;
    const uint32_t others[] = {l->thread.interp, l->thread.thread_id, l->thread.native_id,
                               l->thread.frame,  l->thread.cframe,    l->thread.base_frame};
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

static void release(struct state_table *t)
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
    free(s->heads);
    free(s);
    return NULL;
}

bool py_states_knows(const struct py_states *s, pid_t ns_tid, uint64_t *ret_thread_id)
{
    return map_get(&s->table.by_tid, (uint64_t)ns_tid, ret_thread_id);
}

bool py_states_has(const struct py_states *s, uint64_t state)
{
    uint64_t at;
    return map_get(&s->table.by_state, state, &at);
}

/* ≤ 3.10 have no native id: the C library has the thread's tid (py_pthread.h). */
static uint64_t tids_in(const uint32_t words[PY_TID_PLACES])
{
    uint64_t ret = 0;
    for (size_t i = 0; i < PY_TID_PLACES; i++)
        ret = ret << 32 | (py_is_tid(words[i]) ? words[i] : 0);
    return ret;
}

static uint64_t read_tids(struct mem *live, uint64_t thread_id)
{
    uint32_t words[PY_TID_PLACES] = {0};
    for (size_t i = 0; thread_id && i < PY_TID_PLACES; i++)
        if (mem_read_u32(live, thread_id + py_tid_places[i], &words[i]) < 0)
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
        .top = py_layout_word(bytes,
                              l->thread.frame != PY_ABSENT ? l->thread.frame : l->thread.cframe),
        .base_frame = py_layout_word(bytes, l->thread.base_frame),
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

/* Reads the head of interpreter INTERP's list of thread states. */
static bool read_head(const struct py_states *s, struct mem *live, uint64_t interp,
                      struct list_head *ret)
{
    const struct py_layout *l = &s->rt->layout;
    struct thread_ids ids;
    *ret = (struct list_head){.interp = interp};
    if (mem_read_u64(live, interp + l->interp.threads, &ret->state) < 0)
        return false;
    if (ret->state != 0 && read_ids(s, live, ret->state, &ids) == 0) {
        ret->thread_id = ids.thread_id;
        ret->native_id =
            l->thread.native_id == PY_ABSENT ? read_tids(live, ids.thread_id) : ids.native_id;
    }
    return true;
}

/* Returns how many interpreters there are, at most PY_MAX_INTERPRETERS: the newest.  If there are
 * more (*RET_TOO_MANY), the main one takes the place of the last. */
static size_t read_heads(const struct py_states *s, struct mem *live, struct list_head *ret,
                         bool *ret_too_many)
{
    uint64_t interps[PY_MAX_INTERPRETERS];
    size_t listed = py_interpreters_list(s->rt, live, interps, PY_MAX_INTERPRETERS, ret_too_many);
    size_t n = 0;
    uint64_t main;
    if (*ret_too_many && py_interpreters_main(s->rt, live, &main) == 0)
        interps[listed - 1] = main;
    while (n < listed && read_head(s, live, interps[n], &ret[n]))
        n++;
    return n;
}

/* The words that are now in the place of a head's. */
struct head_now {
    uint64_t next; /* of the list of interpreters */
    uint64_t state;
    uint8_t ids[PY_THREAD_MAX_BYTES];
    uint32_t tids[PY_TID_PLACES];
};
enum { HEAD_SPANS = 3 + PY_TID_PLACES };

/* Adds the reads of head I's words, all but its own address.  Returns how many spans that takes. */
static size_t ask_for_head(const struct py_states *s, size_t i, struct head_now *now,
                           struct mem_span *spans)
{
    const struct py_layout *l = &s->rt->layout;
    const struct list_head *h = &s->heads[i];
    bool wants_tids = h->thread_id && l->thread.native_id == PY_ABSENT;
    size_t n = 0;
    spans[n++] = (struct mem_span){h->interp + l->interp.threads, &now[i].state, 8};
    spans[n++] = (struct mem_span){h->interp + l->interp.next, &now[i + 1].next, 8};
    if (h->state)
        spans[n++] = (struct mem_span){h->state, now[i].ids, s->ids_bytes};
    for (size_t k = 0; wants_tids && k < PY_TID_PLACES; k++)
        spans[n++] = (struct mem_span){h->thread_id + py_tid_places[k], &now[i].tids[k], 4};
    return n;
}

static bool head_is(const struct py_states *s, const struct list_head *h,
                    const struct head_now *now)
{
    struct thread_ids ids = h->state ? ids_in(s, now->ids) : (struct thread_ids){0};
    if (s->rt->layout.thread.native_id == PY_ABSENT)
        ids.native_id = h->thread_id ? tids_in(now->tids) : 0;
    return now->next == h->interp && now->state == h->state && ids.thread_id == h->thread_id &&
           ids.native_id == h->native_id;
}

/* Would read_heads() read the same again?  One system call reads all words where they were. */
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

static void note_tids(struct state_table *t, struct mem *live, uint64_t thread_id)
{
    for (size_t i = 0; i < PY_TID_PLACES; i++) {
        uint32_t tid;
        uint64_t known;
        if (mem_read_u32(live, thread_id + py_tid_places[i], &tid) == 0 && py_is_tid(tid) &&
            !map_get(&t->by_tid, tid, &known))
            map_put(&t->by_tid, tid, thread_id);
    }
}

static void add_entry(struct state_table *t, struct mem *live, uint64_t state,
                      const struct thread_ids *ids, bool has_native)
{
    struct thread_state_entry e = {state, ids->interp, ids->thread_id, ids->next, 0};
    /* Before a thread begins its ids are 0, or (≤ 3.11) those of the thread that made it. */
    if (ids->thread_id == 0 || (has_native && ids->native_id == 0)) {
        t->unsettled = true;
        return;
    }
    bool again = map_get(&t->by_thread, ids->thread_id, &e.same_thread);
    if (again && t->entries[e.same_thread - 1].interp == ids->interp)
        t->unsettled = true;
    /* The state of a thread that ended may have the thread_id of one that began later. */
    if (has_native)
        map_put(&t->by_tid, ids->native_id, ids->thread_id);
    else if (!again)
        note_tids(t, live, ids->thread_id);
    t->entries = array_reserve(t->entries, &t->capacity, t->n + 1, sizeof *t->entries);
    t->entries[t->n++] = e;
    map_put(&t->by_thread, ids->thread_id, t->n);
    map_put(&t->by_state, state, t->n);
}

static void begin(struct py_states *s)
{
    struct state_table *t = &s->next;
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

/* Reads the next state of a list.  The list may change meanwhile. */
static void read_next(struct py_states *s, struct mem *live)
{
    bool has_native = s->rt->layout.thread.native_id != PY_ABSENT;
    struct thread_ids ids;
    uint64_t known;
    /* A known state: the list leads back. */
    if (++s->steps > MAX_THREAD_STATES || map_get(&s->next.by_state, s->at_state, &known) ||
        read_ids(s, live, s->at_state, &ids) < 0 || ids.interp != s->heads[s->at_head].interp) {
        s->next.unsettled = true;
        s->at_state = 0;
        return;
    }
    add_entry(&s->next, live, s->at_state, &ids, has_native);
    s->at_state = ids.next;
}

/* Returns whether there is more to read; if not, captures use what was read from now on. */
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
    struct state_table old = s->table;
    s->table = s->next;
    s->next = old;
    s->reading = false;
    return false;
}

static bool heads_changed(struct py_states *s, struct mem *live)
{
    struct list_head heads[PY_MAX_INTERPRETERS];
    if (heads_are_same(s, live))
        return false;
    size_t n = read_heads(s, live, heads, &s->too_many);
    if (n == s->heads_n && (n == 0 || memcmp(heads, s->heads, n * sizeof *heads) == 0))
        return false;
    s->heads = array_reserve(s->heads, &s->heads_capacity, n, sizeof *heads);
    if (n)
        memcpy(s->heads, heads, n * sizeof *heads);
    s->heads_n = n;
    return true;
}

/* Must lists whose heads have not changed be read again? */
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

/* Has STATE no frame?  Tells by words that are read anyway. */
static bool is_idle(const struct py_layout *l, uint64_t state, const struct thread_ids *ids)
{
    bool by_cframe =
        l->traits.chain == PY_CHAIN_IS_ENTRY || l->traits.chain == PY_CHAIN_SHIM_CFRAME;
    uint64_t none = by_cframe ? state + l->thread.root_cframe : ids->base_frame;
    return ids->top == 0 || ids->top == none;
}

struct found_states {
    uint64_t states[MAX_OF_THREAD];
    uint32_t n, max;
    uint64_t idle; /* a bit for each */
};

/* If there is no room, takes the place of a state that runs nothing.  False: all run something. */
static bool take(struct found_states *f, uint64_t state, bool idle)
{
    uint32_t at = f->n;
    if (at == f->max && idle)
        return true;
    if (at == f->max)
        for (at = 0; at < f->max && !(f->idle >> at & 1); at++)
            ;
    if (at == f->max)
        return false;
    f->states[at] = state;
    f->idle = (f->idle & ~(UINT64_C(1) << at)) | (uint64_t)idle << at;
    f->n += at == f->n;
    return true;
}

uint32_t py_states_find(struct py_states *s, struct mem *recording, pid_t ns_tid, uint64_t fs_base,
                        uint64_t *states, uint32_t max, bool *ret_incomplete)
{
    struct found_states found = {.max = max < MAX_OF_THREAD ? max : MAX_OF_THREAD};
    uint64_t thread = fs_base;
    uint64_t at = 0;
    bool whole = true;
    if (thread != 0 || map_get(&s->table.by_tid, (uint64_t)ns_tid, &thread))
        (void)map_get(&s->table.by_thread, thread, &at);
    for (int i = 0; at != 0 && whole; i++) {
        const struct thread_state_entry *e = &s->table.entries[at - 1];
        struct thread_ids ids;
        if (i == MAX_OF_THREAD)
            whole = false;
        else if (read_ids(s, recording, e->state, &ids) == 0 && ids.interp == e->interp &&
                 ids.thread_id == e->thread_id)
            whole = take(&found, e->state, is_idle(&s->rt->layout, e->state, &ids));
        else
            s->outdated = true;
        at = e->same_thread;
    }
    if (!whole || (found.n == 0 && s->too_many))
        *ret_incomplete = true;
    memcpy(states, found.states, found.n * sizeof *states);
    return found.n;
}

/* Has STATE been where it is in the lists since the tick?  If not, its address was freed and used
 * again: the states behind it may be new, too. */
static bool was_there(const struct py_states *s, uint64_t state, const struct thread_ids *ids)
{
    uint64_t at;
    if (!map_get(&s->table.by_state, state, &at))
        return false;
    const struct thread_state_entry *e = &s->table.entries[at - 1];
    return e->interp == ids->interp && e->thread_id == ids->thread_id && e->next == ids->next;
}

/* Is the state with IDS of the thread with NS_TID and FS_BASE (0: unknown)? */
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
