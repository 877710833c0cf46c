#include "pyframes/py_homes.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "pyframes/py_layout.h"

/* ---- blocks ---- */

/* By marker: thread states on one thread interleave.  Without markers the order is as walked. */
static int compare_blocks(const void *left, const void *right)
{
    const struct block *a = left;
    const struct block *b = right;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static const struct native_frame *frame_around(const struct native_stack *native, uint64_t addr)
{
    size_t i = 0;
    while (i < native->n && !py_homes_contain(&native->frames[i], addr))
        i++;
    return i < native->n ? &native->frames[i] : NULL;
}

static uint64_t top_of(const struct native_stack *native)
{
    uint64_t top = 0;
    for (size_t i = 0; i < native->n; i++)
        top = native->frames[i].cfa > top ? native->frames[i].cfa : top;
    return top;
}

/* 3.10's CFrames do not say whose they are: they were counted off (mark_by_cframes()).  A greenlet has one more, a
 * generator that gen.throw() passes by one less; with both the counts agree, but some lie in other C frames. */
static bool are_misleading(const struct py_merger *m, const struct native_stack *native,
                           const struct py_stack *py)
{
    if (m->rt->layout.chain != PY_CHAIN_OBJECTS_CFRAME)
        return false;
    uint64_t top = top_of(native);
    size_t from = 0;
    /* Markers rise, as frames do, but for those on an alternate signal stack. */
    for (size_t i = 0; i < py->n; i++) {
        uint64_t marker = py->frames[i].marker;
        size_t k = from;
        while (marker && marker < top && k < native->n &&
               !py_homes_contain(&native->frames[k], marker))
            k++;
        if (!marker || marker >= top || k == native->n)
            continue;
        if (native->frames[k].trust == FRAME_EXACT && !py_homes_possible(m, &native->frames[k]))
            return true;
        from = k;
    }
    return false;
}

static void split_into_blocks(struct py_merger *m, const struct native_stack *native,
                              const struct py_stack *py)
{
    bool misled = are_misleading(m, native, py);
    m->blocks = array_reserve(m->blocks, &m->capacity, py->n, sizeof *m->blocks);
    m->n = 0;
    for (size_t i = 0; i < py->n;) {
        const uint64_t marker = py->frames[i].marker;
        struct block b = {.first = i, .marker = misled ? 0 : marker, .home = NOWHERE};
        while (i < py->n && !b.whole && py->frames[i].marker == marker)
            b.whole = py->frames[i++].entry;
        b.end = i;
        /* What a walk that ended early leaves has no marker: it stays behind its neighbour. */
        b.order = !b.marker && m->n ? m->blocks[m->n - 1].order : b.marker;
        m->blocks[m->n++] = b;
    }
    if (m->n)
        sort_if_needed(m->blocks, m->n, sizeof *m->blocks, compare_blocks);
}

/* ---- homes ---- */

bool py_homes_contain(const struct native_frame *f, uint64_t addr)
{
    return f->sp <= addr && addr < f->cfa;
}

bool py_homes_eval(const struct py_merger *m, const struct native_frame *f)
{
    uint64_t ignored = 0;
    return f->function && map_get(&m->evals, f->function, &ignored) &&
           py_runtime_owns(m->rt, f->pc);
}

static void settle(struct py_merger *m, size_t block, const struct native_stack *native,
                   size_t home)
{
    const struct native_frame *f = &native->frames[home];
    m->blocks[block].home = home;
    m->block_at[home] = block;
    if (f->function && f->trust != FRAME_GUESSED)
        map_put(&m->evals, f->function, 1);
}

static void learn_placement(struct py_merger *m, const struct native_frame *f, uint64_t marker)
{
    size_t i = 0;
    while (i < m->n_placements && m->placements[i].function != f->function)
        i++;
    if (i < m->n_placements || i == PY_MAX_KNOWN || !f->function || !f->is_call ||
        f->trust != FRAME_EXACT)
        return;
    m->placements[m->n_placements++] =
        (struct placement){f->function, f->pc, marker - f->sp, f->cfa - marker};
}

/* The C frame of the eval loop is the interpreter's; code without unwind information may be its JIT
 * compiler's. */
bool py_homes_possible(const struct py_merger *m, const struct native_frame *f)
{
    return py_runtime_owns(m->rt, f->pc) || !f->function;
}

static void settle_by_marker(struct py_merger *m, const struct native_stack *native)
{
    uint64_t top = top_of(native);
    size_t from = 0;
    for (size_t b = 0; b < m->n; b++) {
        uint64_t marker = m->blocks[b].marker;
        if (!marker || marker >= top)
            continue;
        /* Frames rise, but for those on an alternate signal stack: so try each. */
        for (size_t i = from; i < native->n; i++) {
            if (!py_homes_contain(&native->frames[i], marker))
                continue;
            if (py_homes_possible(m, &native->frames[i])) {
                settle(m, b, native, i);
                learn_placement(m, &native->frames[i], marker);
                from = i + 1;
            }
            break;
        }
    }
}

/* Of the homeless blocks which a C frame holds, the outermost. */
struct held {
    const struct py_merger *m;
    const struct native_frame *frame;
    bool alike; /* only where the eval function's parts would hold it */
    size_t block;
    uint64_t place;
};

static void choose_outermost(void *ctx, uint64_t ix, uint64_t place)
{
    struct held *h = ctx;
    if (h->m->blocks[ix].home != NOWHERE || (h->block != NOWHERE && ix <= h->block))
        return;
    if (h->alike && !py_self_alike(&h->m->self, h->frame, place))
        return;
    h->block = ix;
    h->place = place;
}

static struct held held_by(const struct py_merger *m, const struct native_frame *f, struct mem *mem,
                           bool alike)
{
    struct held h = {.m = m, .frame = f, .alike = alike, .block = NOWHERE};
    py_self_each(f, mem, &m->frames, choose_outermost, &h);
    return h;
}

/* From the root: who holds a frame's address further in may have it from its callers. */
static void settle_by_self(struct py_merger *m, struct mem *mem, const struct native_stack *native)
{
    for (size_t i = native->n; i-- > 0;) {
        const struct native_frame *f = &native->frames[i];
        if (m->block_at[i] != NOWHERE || !py_homes_eval(m, f))
            continue;
        struct held h = held_by(m, f, mem, false);
        if (h.block == NOWHERE)
            continue;
        py_self_learn(&m->self, f, h.place);
        settle(m, h.block, native, i);
    }
}

static bool any_homeless(const struct py_merger *m)
{
    size_t b = 0;
    while (b < m->n && m->blocks[b].home != NOWHERE)
        b++;
    return b < m->n;
}

/* The parts of the eval function that are not known yet: between the homes of a block's
 * neighbours. */
static void settle_by_likeness(struct py_merger *m, struct mem *mem,
                               const struct native_stack *native)
{
    for (size_t i = native->n; i-- > 0;) {
        const struct native_frame *f = &native->frames[i];
        if (m->block_at[i] != NOWHERE || !py_runtime_owns(m->rt, f->pc))
            continue;
        struct held h = held_by(m, f, mem, true);
        size_t b = h.block;
        if (b == NOWHERE)
            continue;
        size_t inner = b > 0 ? m->blocks[b - 1].home : NOWHERE;
        size_t outer = b + 1 < m->n ? m->blocks[b + 1].home : NOWHERE;
        if ((inner == NOWHERE || inner < i) && i < outer)
            settle(m, b, native, i);
    }
}

static bool any_without_marker(struct py_merger *m, const struct py_stack *py)
{
    py_selves_clear(&m->frames);
    for (size_t b = 0; b < m->n; b++)
        if (!m->blocks[b].marker)
            py_selves_add(&m->frames, py->frames[m->blocks[b].first].self, b);
    return m->frames.blocks.n > 0;
}

/* A block whose outermost frames were not read has the next activation outwards for a home. */
static void settle_remainder(struct py_merger *m, const struct native_stack *native)
{
    for (size_t b = 0; b < m->n; b++) {
        if (m->blocks[b].whole || m->blocks[b].home != NOWHERE)
            continue;
        size_t i = b > 0 ? m->blocks[b - 1].home + 1 : 0; /* NOWHERE + 1 is 0 */
        while (i < native->n && m->block_at[i] == NOWHERE && !py_homes_eval(m, &native->frames[i]))
            i++;
        if (i < native->n && m->block_at[i] == NOWHERE)
            settle(m, b, native, i);
    }
}

/* Is F an activation whose last Python frame was left?  It may still run destructors of what that
 * held. */
bool py_homes_left(const struct py_merger *m, const struct py_stack *py,
                   const struct native_frame *f)
{
    size_t i = 0;
    while (i < py->n_left && !py_homes_contain(f, py->left[i]))
        i++;
    return i < py->n_left && py_homes_possible(m, f);
}

/* ---- thread states that another thread runs ---- */

/* What speaks for each thread state; a bit for each. */
struct evidence {
    const struct py_merger *m;
    const struct py_stack *py;
    uint32_t frames;                    /* it has some */
    uint32_t home;                      /* a C frame here runs one of them */
    uint32_t near;                      /* or may */
    size_t unmarked[PY_MAX_STATES + 1]; /* how many blocks have no marker */
};

/* Of frame I; n_states: unknown. */
static size_t state_of(const struct py_stack *py, size_t i)
{
    size_t k = 0;
    while (k < py->n_states && i >= py->state_ends[k])
        k++;
    return k;
}

static size_t state_of_block(const struct evidence *e, size_t b)
{
    return state_of(e->py, e->m->blocks[b].first);
}

static void note_near(void *ctx, uint64_t ix, uint64_t place)
{
    (void)place;
    struct evidence *e = ctx;
    e->near |= UINT32_C(1) << state_of_block(e, ix);
}

static void gather(struct evidence *e, struct mem *mem, const struct native_stack *native)
{
    const struct py_merger *m = e->m;
    for (size_t b = 0; b < m->n; b++) {
        size_t k = state_of_block(e, b);
        uint64_t marker = m->blocks[b].marker;
        e->frames |= UINT32_C(1) << k;
        e->unmarked[k] += marker == 0;
        if (m->blocks[b].home != NOWHERE)
            e->home |= UINT32_C(1) << k;
        else if (marker && frame_around(native, marker))
            e->near |= UINT32_C(1) << k;
    }
    for (size_t i = 0; m->frames.blocks.n && i < native->n; i++)
        if (py_runtime_owns(m->rt, native->frames[i].pc))
            py_self_each(&native->frames[i], mem, &m->frames, note_near, e);
}

/* How many activations have no Python frame. */
static size_t count_free(const struct py_merger *m, const struct native_stack *native,
                         const struct py_stack *py)
{
    size_t ret = 0;
    for (size_t i = 0; i < native->n; i++)
        ret += m->block_at[i] == NOWHERE && py_homes_eval(m, &native->frames[i]) &&
               !py_homes_left(m, py, &native->frames[i]);
    return ret;
}

/* Was everything between the innermost frame and the thread's own root seen?  The C library keeps what
 * pthread_self() points to above a thread's stack, but for the main thread's.  On the stack of a coroutine of C a
 * walk ends as well. */
static bool is_at_root(const struct py_merger *m, struct mem *mem,
                       const struct native_stack *native, uint64_t state)
{
    enum { THREAD_LOCAL_BYTES = 1 << 20 };
    uint64_t thread_id;
    uint64_t root = native->frames[native->n - 1].cfa;
    return mem_read_u64(mem, state + m->rt->layout.thread.thread_id, &thread_id) == 0 &&
           thread_id > root && thread_id - root < THREAD_LOCAL_BYTES;
}

static bool is_whole(const struct native_stack *native)
{
    size_t i = 0;
    while (i < native->n && !native->frames[i].after_gap)
        i++;
    return native->n > 0 && i == native->n && native->end == UNWIND_DONE;
}

static uint32_t find_elsewhere(const struct evidence *e, struct mem *mem,
                               const struct native_stack *native)
{
    size_t free_evals = count_free(e->m, native, e->py);
    uint32_t ret = 0;
    for (size_t k = 0; k < e->py->n_states; k++) {
        uint32_t bit = UINT32_C(1) << k;
        bool rooted = e->home || is_at_root(e->m, mem, native, e->py->states[k]);
        bool fits = e->unmarked[k] && e->unmarked[k] <= free_evals;
        if (e->frames & bit && !((e->home | e->near) & bit) && rooted && !fits)
            ret |= bit;
    }
    return ret;
}

static void drop(struct py_merger *m, const struct evidence *e, uint32_t states)
{
    size_t n = 0;
    for (size_t b = 0; b < m->n; b++) {
        if (states >> state_of_block(e, b) & 1)
            continue;
        if (m->blocks[b].home != NOWHERE)
            m->block_at[m->blocks[b].home] = n;
        m->blocks[n++] = m->blocks[b];
    }
    m->n = n;
}

static uint32_t drop_elsewhere(struct py_merger *m, struct mem *mem,
                               const struct native_stack *native, const struct py_stack *py)
{
    struct evidence e = {.m = m, .py = py};
    bool walked = py->end == PY_WALK_DONE || py->end == PY_WALK_TORN;
    if (!walked || !any_homeless(m) || !is_whole(native))
        return 0;
    gather(&e, mem, native);
    uint32_t ret = find_elsewhere(&e, mem, native);
    if (ret)
        drop(m, &e, ret);
    return ret;
}

uint32_t py_homes_find(struct py_merger *m, struct mem *mem, const struct native_stack *native,
                       const struct py_stack *py)
{
    m->block_at = array_reserve(m->block_at, &m->block_at_capacity, native->n, sizeof *m->block_at);
    for (size_t i = 0; i < native->n; i++)
        m->block_at[i] = NOWHERE;
    split_into_blocks(m, native, py);
    settle_by_marker(m, native);
    if (any_without_marker(m, py)) {
        settle_by_self(m, mem, native);
        if (any_homeless(m)) /* rare, and looks at every word of the stack */
            settle_by_likeness(m, mem, native);
    }
    uint32_t ret = drop_elsewhere(m, mem, native, py);
    settle_remainder(m, native);
    return ret;
}
