/* The merge: finds the C frame ("home") of each block of Python frames, then writes both stacks as
 * one.  Nothing depends on the number of frames or on names, so a doubt in one place leaves the
 * rest exact. */
#include "pyframes/py_merge.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/sort.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_self.h"

#define NOWHERE SIZE_MAX

static const char note_greenlet[] = "[greenlet]";
static const char note_native_missing[] = "[native frames missing]";
static const char note_python_missing[] = "[Python frames missing]";

/* The Python frames [FIRST, END) of one activation of the eval loop. */
struct block {
    size_t first, end;
    uint64_t marker; /* 0: find it by the frame's address */
    uint64_t order;
    bool whole;  /* its outermost frame is there */
    size_t home; /* index of the native frame; NOWHERE */
};

/* Where the C frames of one function lie around their markers. */
struct placement {
    uint64_t function, pc; /* the pc of a call */
    uint64_t below,
        above; /* from the stack pointer at that call to the marker, from there to the CFA */
};

struct py_merger {
    const struct py_runtime *rt;
    struct placement placements[PY_MAX_KNOWN];
    size_t n_placements;
    struct map evals; /* starts of the functions that are the eval loop, or a part of it */
    struct py_self self;
    struct py_selves frames; /* of this merge: to their blocks */
    struct block *blocks;
    size_t n, capacity;
    size_t *block_at; /* by native index; NOWHERE */
    size_t block_at_capacity;
};

struct py_merger *py_merger_new(const struct py_runtime *rt)
{
    struct py_merger *m = xcalloc(1, sizeof *m);
    m->rt = rt;
    if (rt->eval_addr)
        map_put(&m->evals, rt->eval_addr, 1);
    return m;
}

struct py_merger *py_merger_free(struct py_merger *m)
{
    if (!m)
        return NULL;
    map_release(&m->evals);
    py_selves_release(&m->frames);
    py_self_release(&m->self);
    free(m->blocks);
    free(m->block_at);
    free(m);
    return NULL;
}

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

static void split_into_blocks(struct py_merger *m, const struct py_stack *py)
{
    m->blocks = array_reserve(m->blocks, &m->capacity, py->n, sizeof *m->blocks);
    m->n = 0;
    for (size_t i = 0; i < py->n;) {
        struct block b = {.first = i, .marker = py->frames[i].marker, .home = NOWHERE};
        while (i < py->n && !b.whole && py->frames[i].marker == b.marker)
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

static bool contains(const struct native_frame *f, uint64_t addr)
{
    return f->sp <= addr && addr < f->cfa;
}

static bool is_eval(const struct py_merger *m, const struct native_frame *f)
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
static bool may_be_home(const struct py_merger *m, const struct native_frame *f)
{
    return py_runtime_owns(m->rt, f->pc) || !f->function;
}

static void settle_by_marker(struct py_merger *m, const struct native_stack *native)
{
    uint64_t top = 0;
    for (size_t i = 0; i < native->n; i++)
        top = native->frames[i].cfa > top ? native->frames[i].cfa : top;
    size_t from = 0;
    for (size_t b = 0; b < m->n; b++) {
        uint64_t marker = m->blocks[b].marker;
        if (!marker || marker >= top)
            continue;
        /* Frames rise, but for those on an alternate signal stack: so try each. */
        for (size_t i = from; i < native->n; i++) {
            if (!contains(&native->frames[i], marker))
                continue;
            if (may_be_home(m, &native->frames[i])) {
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
        if (m->block_at[i] != NOWHERE || !is_eval(m, f))
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
        while (i < native->n && m->block_at[i] == NOWHERE && !is_eval(m, &native->frames[i]))
            i++;
        if (i < native->n && m->block_at[i] == NOWHERE)
            settle(m, b, native, i);
    }
}

static void settle_all(struct py_merger *m, struct mem *mem, const struct native_stack *native,
                       const struct py_stack *py)
{
    m->block_at = array_reserve(m->block_at, &m->block_at_capacity, native->n, sizeof *m->block_at);
    for (size_t i = 0; i < native->n; i++)
        m->block_at[i] = NOWHERE;
    split_into_blocks(m, py);
    settle_by_marker(m, native);
    if (any_without_marker(m, py)) {
        settle_by_self(m, mem, native);
        if (any_homeless(m)) /* rare, and looks at every word of the stack */
            settle_by_likeness(m, mem, native);
    }
    settle_remainder(m, native);
}

/* ---- writing ---- */

struct writer {
    const struct py_merger *m;
    const struct native_stack *native;
    const struct py_stack *py;
    struct merged_stack *out;
    size_t innermost, outermost; /* native indices of homes; innermost NOWHERE: there is none */
    size_t entering;             /* eval frames inside of all homes that no frame has left */
    bool python_ends;            /* outside of the outermost home there is no Python frame */
};

static void put(struct writer *w, uint8_t kind, size_t index, const char *note)
{
    assert(w->out->n < w->out->capacity);
    w->out->frames[w->out->n++] = (struct merged_frame){kind, (uint32_t)index, note};
}

static void put_note(struct writer *w, const char *note)
{
    const struct merged_stack *out = w->out;
    if (!out->n || out->frames[out->n - 1].note != note)
        put(w, MERGED_NOTE, 0, note);
}

static void worsen(struct writer *w, enum py_merge_result result)
{
    if (result > w->out->result)
        w->out->result = result;
}

static void put_block(struct writer *w, size_t b)
{
    for (size_t i = w->m->blocks[b].first; i < w->m->blocks[b].end; i++)
        put(w, MERGED_PYTHON, i, NULL);
}

/* The block of a home, and before it those that come before it and have none. */
static void put_blocks_up_to(struct writer *w, size_t b)
{
    size_t first = b;
    while (first > 0 && w->m->blocks[first - 1].home == NOWHERE)
        first--;
    if (first < b)
        worsen(w, PY_MERGE_MISMATCH);
    for (size_t i = first; i <= b; i++)
        put_block(w, i);
    if (w->m->blocks[b].whole)
        return;
    put_note(w, note_python_missing);
    worsen(w, PY_MERGE_MISMATCH);
}

/* Is F an activation whose last Python frame was left?  It may still run destructors of what that
 * held. */
static bool is_left(const struct py_merger *m, const struct py_stack *py,
                    const struct native_frame *f)
{
    size_t i = 0;
    while (i < py->n_left && !contains(f, py->left[i]))
        i++;
    return i < py->n_left && may_be_home(m, f);
}

/* An activation of the eval loop that no block belongs to.  Returns false if the stack ends here.
 * One inside of all others is just being entered or left.  Outside of all others, where Python says
 * that nothing was before: what is here belongs to another greenlet, or did (greenlet switches by
 * exchanging the stack's bytes), and so does what lies between: how the greenlet began. */
static bool put_strange_eval(struct writer *w, size_t i)
{
    if (i < w->innermost && w->entering == 1) {
        worsen(w, PY_MERGE_ENTERING);
        return true;
    }
    if (i > w->outermost && w->python_ends) {
        struct merged_stack *out = w->out;
        while (out->frames[out->n - 1].kind == MERGED_NATIVE)
            out->n--;
        put_note(w, note_greenlet);
        return false;
    }
    put_note(w, note_python_missing);
    worsen(w, PY_MERGE_MISMATCH);
    return true;
}

static bool put_native(struct writer *w, size_t i)
{
    const struct native_frame *f = &w->native->frames[i];
    if (f->after_gap) {
        put_note(w, note_native_missing);
        worsen(w, PY_MERGE_NATIVE_CUT);
    }
    if (w->m->block_at[i] != NOWHERE) {
        put_blocks_up_to(w, w->m->block_at[i]);
        return true;
    }
    if (w->innermost != NOWHERE && is_left(w->m, w->py, f)) {
        if (i < w->innermost)
            worsen(w, PY_MERGE_ENTERING);
        return true;
    }
    if (w->innermost != NOWHERE && is_eval(w->m, f))
        return put_strange_eval(w, i);
    put(w, MERGED_NATIVE, i, NULL);
    return true;
}

/* The outermost blocks, if the native stack ended before their homes. */
static void put_homeless_rest(struct writer *w)
{
    size_t first = w->m->n;
    while (first > 0 && w->m->blocks[first - 1].home == NOWHERE)
        first--;
    if (first == w->m->n)
        return;
    if (w->native->end != UNWIND_DONE) {
        worsen(w, PY_MERGE_NATIVE_CUT);
        put_note(w, note_native_missing);
    } else if (w->native->n > 0) {
        worsen(w, PY_MERGE_MISMATCH);
    } /* else nobody asked for native frames */
    for (size_t b = first; b < w->m->n; b++)
        put_block(w, b);
}

static void find_extent(struct writer *w)
{
    const struct py_merger *m = w->m;
    const struct py_stack *py = w->py;
    w->innermost = NOWHERE;
    for (size_t i = 0; i < w->native->n; i++) {
        if (m->block_at[i] == NOWHERE)
            continue;
        if (w->innermost == NOWHERE)
            w->innermost = i;
        w->outermost = i;
    }
    for (size_t i = 0; w->innermost != NOWHERE && i < w->innermost; i++)
        w->entering += is_eval(m, &w->native->frames[i]) && !is_left(m, py, &w->native->frames[i]);
    bool walked = py->end == PY_WALK_DONE || py->end == PY_WALK_TORN;
    w->python_ends = walked && m->n > 0 && m->blocks[m->n - 1].home != NOWHERE;
}

void py_merge(struct py_merger *m, struct mem *mem, const struct native_stack *native,
              const struct py_stack *py, struct merged_stack *out)
{
    assert(out->capacity >= native->n + py->n + 8);
    out->n = 0;
    settle_all(m, mem, native, py);
    out->result = py->n ? PY_MERGE_EXACT : PY_MERGE_NO_PYTHON;
    struct writer w = {.m = m, .native = native, .py = py, .out = out};
    find_extent(&w);
    size_t i = 0;
    while (i < native->n && put_native(&w, i))
        i++;
    put_homeless_rest(&w);
    if (out->result == PY_MERGE_MISMATCH && trace_want(TRACE_MERGE))
        trace(TRACE_MERGE, "mismatch: %zu native frames (end %d), %zu Python frames in %zu blocks",
              native->n, (int)native->end, py->n, m->n);
}

size_t py_merge_known(const struct py_merger *m, const struct py_stack *py, uint64_t above,
                      struct known_frame ret[PY_MAX_KNOWN])
{
    uint64_t marker = UINT64_MAX;
    for (size_t i = 0; i < py->n; i++)
        if (py->frames[i].marker > above && py->frames[i].marker < marker)
            marker = py->frames[i].marker;
    if (marker == UINT64_MAX)
        return 0;
    for (size_t i = 0; i < m->n_placements; i++)
        ret[i] = (struct known_frame){.sp = marker - m->placements[i].below,
                                      .cfa = marker + m->placements[i].above,
                                      .pc = m->placements[i].pc};
    return m->n_placements;
}

bool py_merge_caller(const struct py_merger *m, const struct native_stack *native,
                     uint64_t *ret_low, uint64_t *ret_high)
{
    size_t evals = 0;
    for (size_t i = 0; i < native->n; i++) {
        const struct native_frame *f = &native->frames[i];
        if (!is_eval(m, f) || ++evals < 2)
            continue;
        *ret_low = f->sp;
        *ret_high = f->cfa;
        return true;
    }
    return false;
}

/* Code that no file describes. */
static bool is_nameless(const struct py_merger *m, const struct native_frame *f)
{
    return !f->function && !py_runtime_owns(m->rt, f->pc);
}

bool py_merge_is_jit(const struct py_merger *m, const struct native_stack *native, size_t i)
{
    enum { FIRST = 13, LAST = 14, MAX_FRAMES = 2 }; /* a trace, and what enters the first one */
    if (m->rt->layout.minor < FIRST || m->rt->layout.minor > LAST)
        return false;
    size_t end = i;
    while (end < native->n && end - i < MAX_FRAMES && is_nameless(m, &native->frames[end]))
        end++;
    return end > i && end < native->n && is_eval(m, &native->frames[end]);
}
