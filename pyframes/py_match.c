#include "pyframes/py_match.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "pyframes/py_layout.h"

/* Is ADDR among the bytes of F? */
static bool contains(const struct native_frame *f, uint64_t addr)
{
    return f->sp <= addr && addr < f->cfa;
}

/* May F be an activation of the eval loop, by the module of its code?  The eval loop is the
 * interpreter's; code without unwind information may be its JIT compiler's. */
static bool may_be_eval(const struct py_merger *m, const struct native_frame *f)
{
    return py_runtime_owns(m->rt, f->pc) || !f->function;
}

/* ---- blocks ---- */

/* By marker, because thread states on one thread interleave.  Blocks without markers stay in the
 * order of the walk. */
static int compare_blocks(const void *left, const void *right)
{
    const struct py_block *a = left;
    const struct py_block *b = right;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static const struct native_frame *frame_around(const struct native_stack *native, uint64_t addr)
{
    size_t i = 0;
    while (i < native->n && !contains(&native->frames[i], addr))
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

/* 3.10's CFrames do not name their frames; mark_by_cframes() counts them off.  A greenlet has
 * one CFrame more than it has frames, a generator that gen.throw() passes by has one less.  A
 * stack with both has equal counts and wrong markers: some lie in C frames that are no eval
 * frames. */
static bool are_misleading(const struct py_merger *m, const struct native_stack *native,
                           const struct py_stack *py)
{
    if (m->rt->layout.traits.chain != PY_CHAIN_OBJECTS_CFRAME)
        return false;
    uint64_t top = top_of(native);
    size_t from = 0;
    /* Markers and C frames rise together, except on an alternate signal stack. */
    for (size_t i = 0; i < py->n; i++) {
        uint64_t marker = py->frames[i].marker;
        size_t k = from;
        while (marker && marker < top && k < native->n && !contains(&native->frames[k], marker))
            k++;
        if (!marker || marker >= top || k == native->n)
            continue;
        if (native->frames[k].trust == FRAME_EXACT && !may_be_eval(m, &native->frames[k]))
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
        struct py_block b = {.first = i, .marker = misled ? 0 : marker, .eval_frame = UNMATCHED};
        while (i < py->n && !b.whole && py->frames[i].marker == marker)
            b.whole = py->frames[i++].entry;
        b.end = i;
        /* A walk that ended early leaves a block without a marker: it stays behind its
         * neighbour. */
        b.order = !b.marker && m->n ? m->blocks[m->n - 1].order : b.marker;
        m->blocks[m->n++] = b;
    }
    if (m->n)
        sort_if_needed(m->blocks, m->n, sizeof *m->blocks, compare_blocks);
}

/* ---- eval frames ---- */

bool py_match_is_eval(const struct py_merger *m, const struct native_frame *f)
{
    uint64_t ignored = 0;
    return f->function && map_get(&m->evals, f->function, &ignored) &&
           py_runtime_owns(m->rt, f->pc);
}

static void assign(struct py_merger *m, size_t block, const struct native_stack *native,
                   size_t eval_frame)
{
    const struct native_frame *f = &native->frames[eval_frame];
    m->blocks[block].eval_frame = eval_frame;
    m->block_at[eval_frame] = block;
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
        (struct py_placement){f->function, f->pc, marker - f->sp, f->cfa - marker};
}

static void assign_by_marker(struct py_merger *m, const struct native_stack *native)
{
    uint64_t top = top_of(native);
    size_t from = 0;
    for (size_t b = 0; b < m->n; b++) {
        uint64_t marker = m->blocks[b].marker;
        if (!marker || marker >= top)
            continue;
        /* C frames on an alternate signal stack break the order: try each. */
        for (size_t i = from; i < native->n; i++) {
            if (!contains(&native->frames[i], marker))
                continue;
            if (may_be_eval(m, &native->frames[i])) {
                assign(m, b, native, i);
                learn_placement(m, &native->frames[i], marker);
                from = i + 1;
            }
            break;
        }
    }
}

/* The outermost of the unmatched blocks whose Python frame a C frame holds a pointer to. */
struct held {
    const struct py_merger *m;
    const struct native_frame *frame;
    bool by_shape; /* only in a place where the eval function keeps it */
    size_t block;
    uint64_t place;
};

static void choose_outermost(void *ctx, uint64_t ix, uint64_t place)
{
    struct held *h = ctx;
    if (h->m->blocks[ix].eval_frame != UNMATCHED || (h->block != UNMATCHED && ix <= h->block))
        return;
    if (h->by_shape && !py_eval_shape_fits(&h->m->eval_shape, h->frame, place))
        return;
    h->block = ix;
    h->place = place;
}

static struct held held_by(const struct py_merger *m, const struct native_frame *f, struct mem *mem,
                           bool by_shape)
{
    struct held h = {.m = m, .frame = f, .by_shape = by_shape, .block = UNMATCHED};
    py_frame_ptr_each(f, mem, &m->frames, choose_outermost, &h);
    return h;
}

/* From the root, because a C frame further in may hold a pointer that its callers passed on. */
static void assign_by_frame_ptr(struct py_merger *m, struct mem *mem,
                                const struct native_stack *native)
{
    for (size_t i = native->n; i-- > 0;) {
        const struct native_frame *f = &native->frames[i];
        if (m->block_at[i] != UNMATCHED || !py_match_is_eval(m, f))
            continue;
        struct held h = held_by(m, f, mem, false);
        if (h.block == UNMATCHED)
            continue;
        py_eval_shape_learn(&m->eval_shape, f, h.place);
        assign(m, h.block, native, i);
    }
}

static bool any_unmatched(const struct py_merger *m)
{
    size_t b = 0;
    while (b < m->n && m->blocks[b].eval_frame != UNMATCHED)
        b++;
    return b < m->n;
}

/* Parts of the eval function that are not known yet: they lie between the eval frames of a block's
 * neighbours. */
static void assign_by_shape(struct py_merger *m, struct mem *mem, const struct native_stack *native)
{
    for (size_t i = native->n; i-- > 0;) {
        const struct native_frame *f = &native->frames[i];
        if (m->block_at[i] != UNMATCHED || !py_runtime_owns(m->rt, f->pc))
            continue;
        struct held h = held_by(m, f, mem, true);
        size_t b = h.block;
        if (b == UNMATCHED)
            continue;
        size_t inner = b > 0 ? m->blocks[b - 1].eval_frame : UNMATCHED;
        size_t outer = b + 1 < m->n ? m->blocks[b + 1].eval_frame : UNMATCHED;
        if ((inner == UNMATCHED || inner < i) && i < outer)
            assign(m, b, native, i);
    }
}

static bool any_without_marker(struct py_merger *m, const struct py_stack *py)
{
    py_frame_ptrs_clear(&m->frames);
    for (size_t b = 0; b < m->n; b++)
        if (!m->blocks[b].marker)
            py_frame_ptrs_add(&m->frames, py->frames[m->blocks[b].first].self, b);
    return m->frames.blocks.n > 0;
}

/* The eval frame of a block whose outermost frames were not read is the next activation
 * outwards. */
static void assign_remainder(struct py_merger *m, const struct native_stack *native)
{
    for (size_t b = 0; b < m->n; b++) {
        if (m->blocks[b].whole || m->blocks[b].eval_frame != UNMATCHED)
            continue;
        size_t i = b > 0 ? m->blocks[b - 1].eval_frame + 1 : 0; /* UNMATCHED + 1 is 0 */
        while (i < native->n && m->block_at[i] == UNMATCHED &&
               !py_match_is_eval(m, &native->frames[i]))
            i++;
        if (i < native->n && m->block_at[i] == UNMATCHED)
            assign(m, b, native, i);
    }
}

bool py_match_was_left(const struct py_merger *m, const struct py_stack *py,
                       const struct native_frame *f)
{
    size_t i = 0;
    while (i < py->n_left && !contains(f, py->left[i]))
        i++;
    return i < py->n_left && may_be_eval(m, f);
}

/* ---- thread states that another thread runs ---- */

/* The evidence whether this thread runs a thread state: sets of thread states, a bit for each. */
struct votes {
    const struct py_merger *m;
    const struct py_stack *py;
    uint32_t frames;                    /* it has Python frames */
    uint32_t matched;                   /* an eval frame of this thread runs one of them */
    uint32_t near;                      /* a C frame of this thread has its marker or pointer */
    size_t unmarked[PY_MAX_STATES + 1]; /* how many of its blocks have no marker */
};

/* The thread state of Python frame I; n_states: unknown. */
static size_t state_of(const struct py_stack *py, size_t i)
{
    size_t k = 0;
    while (k < py->n_states && i >= py->state_ends[k])
        k++;
    return k;
}

static size_t state_of_block(const struct votes *v, size_t b)
{
    return state_of(v->py, v->m->blocks[b].first);
}

static void note_near(void *ctx, uint64_t ix, uint64_t place)
{
    (void)place;
    struct votes *v = ctx;
    v->near |= UINT32_C(1) << state_of_block(v, ix);
}

static void count_votes(struct votes *v, struct mem *mem, const struct native_stack *native)
{
    const struct py_merger *m = v->m;
    for (size_t b = 0; b < m->n; b++) {
        size_t k = state_of_block(v, b);
        uint64_t marker = m->blocks[b].marker;
        v->frames |= UINT32_C(1) << k;
        v->unmarked[k] += marker == 0;
        if (m->blocks[b].eval_frame != UNMATCHED)
            v->matched |= UINT32_C(1) << k;
        else if (marker && frame_around(native, marker))
            v->near |= UINT32_C(1) << k;
    }
    for (size_t i = 0; m->frames.blocks.n && i < native->n; i++)
        if (py_runtime_owns(m->rt, native->frames[i].pc))
            py_frame_ptr_each(&native->frames[i], mem, &m->frames, note_near, v);
}

/* How many activations run no block. */
static size_t count_free(const struct py_merger *m, const struct native_stack *native,
                         const struct py_stack *py)
{
    size_t ret = 0;
    for (size_t i = 0; i < native->n; i++)
        ret += m->block_at[i] == UNMATCHED && py_match_is_eval(m, &native->frames[i]) &&
               !py_match_was_left(m, py, &native->frames[i]);
    return ret;
}

/* Is the outermost frame the thread's own root?  The unwinder also ends at the root of a C
 * coroutine's stack.  The C library keeps the block that pthread_self() points to just above a
 * thread's stack, but not above the main thread's. */
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

static uint32_t find_elsewhere(const struct votes *v, struct mem *mem,
                               const struct native_stack *native)
{
    size_t free_evals = count_free(v->m, native, v->py);
    uint32_t ret = 0;
    for (size_t k = 0; k < v->py->n_states; k++) {
        uint32_t bit = UINT32_C(1) << k;
        bool rooted = v->matched || is_at_root(v->m, mem, native, v->py->states[k]);
        bool fits = v->unmarked[k] && v->unmarked[k] <= free_evals;
        if (v->frames & bit && !((v->matched | v->near) & bit) && rooted && !fits)
            ret |= bit;
    }
    return ret;
}

static void drop(struct py_merger *m, const struct votes *v, uint32_t states)
{
    size_t n = 0;
    for (size_t b = 0; b < m->n; b++) {
        if (states >> state_of_block(v, b) & 1)
            continue;
        if (m->blocks[b].eval_frame != UNMATCHED)
            m->block_at[m->blocks[b].eval_frame] = n;
        m->blocks[n++] = m->blocks[b];
    }
    m->n = n;
}

static uint32_t drop_elsewhere(struct py_merger *m, struct mem *mem,
                               const struct native_stack *native, const struct py_stack *py)
{
    struct votes v = {.m = m, .py = py};
    bool walked = py->end == PY_WALK_DONE || py->end == PY_WALK_TORN;
    if (!walked || !any_unmatched(m) || !is_whole(native))
        return 0;
    count_votes(&v, mem, native);
    uint32_t ret = find_elsewhere(&v, mem, native);
    if (ret)
        drop(m, &v, ret);
    return ret;
}

uint32_t py_match_blocks(struct py_merger *m, struct mem *mem, const struct native_stack *native,
                         const struct py_stack *py)
{
    m->block_at = array_reserve(m->block_at, &m->block_at_capacity, native->n, sizeof *m->block_at);
    for (size_t i = 0; i < native->n; i++)
        m->block_at[i] = UNMATCHED;
    split_into_blocks(m, native, py);
    assign_by_marker(m, native);
    if (any_without_marker(m, py)) {
        assign_by_frame_ptr(m, mem, native);
        if (any_unmatched(m)) /* rare; it looks at every word of the stack */
            assign_by_shape(m, mem, native);
    }
    uint32_t ret = drop_elsewhere(m, mem, native, py);
    assign_remainder(m, native);
    return ret;
}
