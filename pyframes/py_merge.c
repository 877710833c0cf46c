/* Writes both stacks as one, once each block of Python frames has its eval frame (py_match.h).
 * Nothing depends on the number of frames or on names: a doubt in one place leaves the rest
 * exact. */
#include "pyframes/py_merge.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/log.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_match.h"

static const char note_greenlet[] = "[greenlet]";
static const char note_native_missing[] = "[native frames missing]";
static const char note_native_not_matched[] = "[native frames not matched]";
static const char note_python_missing[] = "[Python frames missing]";

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
    py_frame_ptrs_release(&m->frames);
    py_eval_shape_release(&m->eval_shape);
    free(m->blocks);
    free(m->block_at);
    free(m);
    return NULL;
}

/* ---- writing ---- */

struct writer {
    const struct py_merger *m;
    const struct native_stack *native;
    const struct py_stack *py;
    struct merged_stack *out;
    /* Native indices of the matched eval frames; innermost UNMATCHED: there are none. */
    size_t innermost, outermost;
    size_t entering;  /* eval frames inside of the innermost that have not left their last frame */
    bool lost;        /* they run Python frames that were not read */
    bool python_ends; /* Python says that it has no frame outside of the outermost */
    bool gap;         /* native frames were missing since the last block */
    size_t rest;      /* the first of the outermost blocks that are unmatched */
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

/* Marks the blocks that follow as unmatched although the C stack was read. */
static void put_mismatch(struct writer *w)
{
    worsen(w, PY_MERGE_MISMATCH);
    if (!w->gap)
        put_note(w, note_native_not_matched);
}

/* Block B, which is matched, behind the unmatched ones that lie just inside of it. */
static void put_blocks_up_to(struct writer *w, size_t b)
{
    size_t first = b;
    while (first > 0 && w->m->blocks[first - 1].eval_frame == UNMATCHED)
        first--;
    if (first < b)
        put_mismatch(w);
    w->gap = false;
    for (size_t i = first; i <= b; i++)
        put_block(w, i);
    if (w->m->blocks[b].whole)
        return;
    put_note(w, note_python_missing);
    worsen(w, PY_MERGE_MISMATCH);
}

/* The unmatched outermost blocks: the native stack ended before their eval frames, or has none for
 * them.  Does nothing the second time. */
static void put_unmatched_rest(struct writer *w)
{
    if (w->rest == w->m->n)
        return;
    if (w->native->end != UNWIND_DONE) {
        worsen(w, PY_MERGE_NATIVE_CUT);
        put_note(w, note_native_missing);
    } else if (w->native->n > 0) {
        put_mismatch(w);
    } /* else native frames are not wanted */
    while (w->rest < w->m->n)
        put_block(w, w->rest++);
}

/* An activation of the eval loop that runs no block.  Returns false if the stack ends here.
 * Inside of all matched ones it is just being entered or left.  Outside of them, if Python says
 * that it has no frame there, it is or was another greenlet's (greenlet switches by exchanging
 * the stack's bytes); the native frames between show how the greenlet began. */
static bool put_strange_eval(struct writer *w, size_t i)
{
    if (i < w->innermost && !w->lost) {
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
    /* The unmatched blocks ran here or further out: CPython itself loses the rest of the chain
     * (3.9's gen.throw()). */
    if (w->innermost != UNMATCHED && i > w->outermost && w->native->end == UNWIND_DONE)
        put_unmatched_rest(w);
    put_note(w, note_python_missing);
    worsen(w, PY_MERGE_MISMATCH);
    w->out->unmatched += w->m->n > 0;
    return true;
}

static bool put_native(struct writer *w, size_t i)
{
    const struct native_frame *f = &w->native->frames[i];
    if (f->after_gap) {
        put_note(w, note_native_missing);
        worsen(w, PY_MERGE_NATIVE_CUT);
        w->gap = true;
    }
    if (w->m->block_at[i] != UNMATCHED) {
        put_blocks_up_to(w, w->m->block_at[i]);
        return true;
    }
    if (w->innermost != UNMATCHED && py_match_was_left(w->m, w->py, f)) {
        if (i < w->innermost)
            worsen(w, PY_MERGE_ENTERING);
        return true;
    }
    bool strange = w->innermost != UNMATCHED || w->lost;
    if (strange && py_match_is_eval(w->m, f) && !py_match_was_left(w->m, w->py, f))
        return put_strange_eval(w, i);
    put(w, MERGED_NATIVE, i, NULL);
    return true;
}

/* Does the call ask the kernel for memory, or give it back?  malloc() may do so anywhere. */
static bool is_memory_call(int64_t syscall)
{
    static const int64_t calls[] = {SYS_brk,    SYS_mmap,    SYS_munmap,
                                    SYS_mremap, SYS_madvise, SYS_mprotect};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (syscall == calls[i])
            return true;
    return false;
}

/* Is the thread in a system call that proves that EVAL runs a Python frame?  The eval loop makes
 * none while it enters or leaves a frame, unless a signal comes. */
static bool is_within_call(const struct native_stack *native, size_t eval, int64_t syscall)
{
    size_t i = 0;
    while (i < eval && !native->frames[i].is_signal)
        i++;
    return i == eval && syscall >= 0 && !is_memory_call(syscall);
}

/* Do the eval frames inside of all matched ones, the outermost of which is EVAL, run Python
 * frames that were not read?  A single one may be just being entered or left.  A thread state
 * that runs nothing is a greenlet's that began with a C function: the eval frames are those of
 * other greenlets. */
static bool is_lost(const struct writer *w, size_t eval, int64_t syscall)
{
    const struct py_merger *m = w->m;
    bool torn = w->py->end == PY_WALK_TORN;
    uint32_t here = ((UINT32_C(1) << w->py->n_states) - 1) & ~w->out->elsewhere;
    if (m->n == 0 && here && !torn)
        return false;
    if (w->entering != 1)
        return w->entering > 1;
    bool in_doubt = torn || (m->n && m->blocks[0].eval_frame == UNMATCHED);
    return !in_doubt && is_within_call(w->native, eval, syscall);
}

static void find_extent(struct writer *w, int64_t syscall)
{
    const struct py_merger *m = w->m;
    const struct py_stack *py = w->py;
    w->innermost = UNMATCHED;
    for (size_t i = 0; i < w->native->n; i++) {
        if (m->block_at[i] == UNMATCHED)
            continue;
        if (w->innermost == UNMATCHED)
            w->innermost = i;
        w->outermost = i;
    }
    w->rest = m->n;
    while (w->rest > 0 && m->blocks[w->rest - 1].eval_frame == UNMATCHED)
        w->rest--;
    size_t eval = 0;
    size_t inside = w->innermost != UNMATCHED ? w->innermost : m->n == 0 ? w->native->n : 0;
    for (size_t i = 0; i < inside; i++) {
        if (!py_match_is_eval(m, &w->native->frames[i]) ||
            py_match_was_left(m, py, &w->native->frames[i]))
            continue;
        w->entering++;
        eval = i;
    }
    w->lost = is_lost(w, eval, syscall);
    w->out->unmatched = m->n == 0 ? w->entering : 0;
    bool walked = py->end == PY_WALK_DONE || py->end == PY_WALK_TORN;
    w->python_ends = walked && m->n > 0 && m->blocks[m->n - 1].eval_frame != UNMATCHED;
}

void py_merge(struct py_merger *m, struct mem *mem, const struct native_stack *native,
              const struct py_stack *py, int64_t syscall, struct merged_stack *out)
{
    assert(out->capacity >= py_merge_room(native->n, py->n));
    out->n = 0;
    out->elsewhere = py_match_blocks(m, mem, native, py);
    out->root_matched = m->n > 0 && m->blocks[m->n - 1].eval_frame != UNMATCHED;
    out->result = m->n ? PY_MERGE_EXACT : PY_MERGE_NO_PYTHON;
    struct writer w = {.m = m, .native = native, .py = py, .out = out};
    find_extent(&w, syscall);
    size_t i = 0;
    while (i < native->n && put_native(&w, i))
        i++;
    put_unmatched_rest(&w);
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
        if (!py_match_is_eval(m, f) || ++evals < 2)
            continue;
        *ret_low = f->sp;
        *ret_high = f->cfa;
        return true;
    }
    return false;
}

/* Is its code in no file? */
static bool is_nameless(const struct py_merger *m, const struct native_frame *f)
{
    return !f->function && !py_runtime_owns(m->rt, f->pc);
}

bool py_merge_is_jit(const struct py_merger *m, const struct native_stack *native, size_t i)
{
    enum { MAX_FRAMES = 2 }; /* a trace, and what enters the first one */
    if (!m->rt->layout.traits.anonymous_jit)
        return false;
    size_t end = i;
    while (end < native->n && end - i < MAX_FRAMES && is_nameless(m, &native->frames[end]))
        end++;
    return end > i && end < native->n && py_match_is_eval(m, &native->frames[end]);
}
