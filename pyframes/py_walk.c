/* The frame chains of all CPython versions; see py_walk.h.  Reads frames only: py_code.h says
 * whether a code object is one, except for the top's, which may be stale. */
#include "pyframes/py_walk.h"

#include "pyframes/py_step.h"

struct cframe {
    uint64_t addr, current_frame, previous;
};

/* ≤ 3.10: every frame object is a block. */
static enum py_walk_end walk_objects(struct py_walker *w)
{
    uint64_t addr;
    if (py_step_word(w, w->thread + w->rt->layout.thread.frame, &addr) < 0)
        return PY_WALK_BAD_MEMORY;
    while (addr != 0) {
        struct py_step s;
        size_t first = w->out->n;
        enum py_walk_end end = py_step_read(w, addr, &s);
        if (end == PY_WALK_DONE)
            end = py_step_add(w, &s, 0);
        if (end != PY_WALK_DONE)
            return end;
        py_step_close_block(w, first, 0);
        addr = s.previous;
    }
    return PY_WALK_DONE;
}

/* 3.10: gives the frames [FIRST, n) their CFrames, in order.  A CFrame does not name its frame: if
 * there are not as many CFrames as frames, the markers stay 0. */
static void mark_by_cframes(struct py_walker *w, size_t first)
{
    const struct py_layout *l = &w->rt->layout;
    struct py_stack *out = w->out;
    uint64_t root = w->thread + l->thread.root_cframe, addr, below = 0;
    size_t i = first;
    if (py_step_word(w, w->thread + l->thread.cframe, &addr) < 0)
        return;
    while (addr != root && i < out->n && py_step_is_address(addr) && addr > below) {
        below = addr;
        out->frames[i++].marker = addr;
        if (py_step_word(w, addr + l->cframe.previous, &addr) < 0)
            break;
    }
    if (addr == root && i == out->n)
        return;
    while (i > first)
        out->frames[--i].marker = 0;
}

static enum py_walk_end read_cframe(struct py_walker *w, uint64_t addr, struct cframe *ret)
{
    const struct py_layout *l = &w->rt->layout;
    if (!py_step_is_address(addr))
        return PY_WALK_CUT;
    ret->addr = addr;
    if (py_step_word(w, addr + l->cframe.current_frame, &ret->current_frame) < 0 ||
        py_step_word(w, addr + l->cframe.previous, &ret->previous) < 0)
        return PY_WALK_BAD_MEMORY;
    return PY_WALK_DONE;
}

/* 3.11: the block of cframe C, from its current frame to the frame with is_entry that C's caller
 * called.  C becomes that caller.  gen.throw() passes by generators that await another: these have
 * no activation, and their is_entry is out of date. */
static enum py_walk_end entry_block(struct py_walker *w, struct cframe *c)
{
    size_t first = w->out->n;
    struct py_step s = {.previous = c->current_frame};
    struct cframe caller = {0};
    enum py_walk_end next = read_cframe(w, c->previous, &caller);
    while (!s.is_entry || (s.owner == PY_OWNER_GENERATOR && caller.current_frame != s.previous)) {
        enum py_walk_end end = py_step_read(w, s.previous, &s);
        if (end == PY_WALK_DONE)
            end = py_step_add(w, &s, c->addr);
        if (end != PY_WALK_DONE)
            return end;
    }
    py_step_close_block(w, first, c->addr);
    *c = caller;
    return next == PY_WALK_DONE && caller.current_frame != s.previous ? PY_WALK_CUT : next;
}

static void note_left(struct py_stack *out, uint64_t marker)
{
    if (out->n_left < PY_MAX_LEFT)
        out->left[out->n_left++] = marker;
}

/* 3.13 and later: an activation that is just being entered links its frame and shim some
 * instructions before it marks the shim as one (Debian 13's build).  Until then the shim's code is
 * None and its instruction is in no code object. */
static bool is_new_shim(struct py_walker *w, const struct py_step *s)
{
    const struct py_layout *l = &w->rt->layout;
    uint64_t type;
    if (l->traits.chain != PY_CHAIN_SHIM || w->steps != 2 || w->rt->code_type == 0 ||
        !py_step_is_address(s->code) || py_step_lasti(l, s) != PY_LASTI_UNKNOWN)
        return false;
    return mem_read_u64(w->mem, s->code + l->object.type, &type) == 0 && type != w->rt->code_type;
}

/* 3.12 and later: the block from frame *FRAME to its shim.  *FRAME becomes the first frame of the
 * next block; 0: the chain ends.  *RET_SHIM: the shim's address, if there was one. */
static enum py_walk_end shim_block(struct py_walker *w, uint64_t *frame, uint64_t *ret_shim)
{
    size_t first = w->out->n;
    struct py_step s;
    for (uint64_t addr = *frame;; addr = s.previous) {
        if (addr != 0 && addr == w->base_frame) {
            *frame = 0;
            return w->out->n == first ? PY_WALK_DONE : PY_WALK_CUT;
        }
        enum py_walk_end end = py_step_read(w, addr, &s);
        if (end != PY_WALK_DONE)
            return end;
        if (s.owner >= PY_OWNER_SHIM || is_new_shim(w, &s))
            break;
        end = py_step_add(w, &s, 0);
        if (end != PY_WALK_DONE)
            return end;
    }
    if (w->out->n == first)
        note_left(w->out, s.addr);
    py_step_close_block(w, first, s.addr);
    *frame = s.previous;
    *ret_shim = s.addr;
    return PY_WALK_DONE;
}

static enum py_walk_end walk_shims(struct py_walker *w, uint64_t frame)
{
    enum py_walk_end end = PY_WALK_DONE;
    uint64_t shim;
    while (frame != 0 && end == PY_WALK_DONE)
        end = shim_block(w, &frame, &shim);
    return end;
}

static enum py_walk_end walk_entries(struct py_walker *w, struct cframe *c)
{
    enum py_walk_end end = PY_WALK_DONE;
    while (c->current_frame != 0 && end == PY_WALK_DONE)
        end = entry_block(w, c);
    return end;
}

/* Does FRAME run a code object?  True if nothing tells. */
static bool runs_code(struct py_walker *w, const struct py_frame *frame)
{
    uint64_t type;
    if (w->rt->code_type == 0 || w->code_unread)
        return true;
    if (mem_read_u64(w->mem, frame->code + w->rt->layout.object.type, &type) < 0)
        return false;
    return type == w->rt->code_type;
}

/* 3.11 and 3.12: walks the top block, which begins at C.  An activation that is just being entered
 * links its cframe some instructions before it fills it in.  Until then both members are what an
 * older call left on the stack: this returns PY_WALK_TORN, unless the chain is long, which a stale
 * one is not.  After PY_WALK_DONE the next block begins at C (3.11) or *RET_FRAME (3.12). */
static enum py_walk_end walk_top(struct py_walker *w, struct cframe *c, uint64_t *ret_frame)
{
    /* Shim and cframe are locals of one C function: 112 bytes apart in 3.12.1. */
    enum { LOCALS_BYTES = 1024, MAX_STALE_FRAMES = 256 };
    size_t first = w->out->n;
    uint64_t cframe = c->addr, shim = cframe;
    enum py_walk_end end;
    *ret_frame = c->current_frame;
    if (c->current_frame == 0)
        return PY_WALK_DONE;
    if (w->rt->layout.traits.chain == PY_CHAIN_IS_ENTRY)
        end = entry_block(w, c);
    else
        end = shim_block(w, ret_frame, &shim);
    if (end == PY_WALK_TOO_DEEP ||
        (end == PY_WALK_BAD_MEMORY && w->out->n - first > MAX_STALE_FRAMES))
        return end;
    if (end != PY_WALK_DONE || shim - cframe + LOCALS_BYTES > (uint64_t)2 * LOCALS_BYTES)
        return PY_WALK_TORN;
    bool sound = w->out->n == first || runs_code(w, &w->out->frames[first]);
    return sound ? PY_WALK_DONE : PY_WALK_TORN;
}

/* Forgets a stale chain: the frames from FIRST on and the markers from LEFT on. */
static void drop_top(struct py_walker *w, size_t first, size_t left)
{
    w->out->n = first;
    w->out->n_left = left;
    w->error = 0;
    w->steps = w->marked_step = 0;
    py_step_note_end(w->out, PY_WALK_TORN);
}

/* 3.11 and 3.12: the top is found through the thread's cframe. */
static enum py_walk_end walk_cframes(struct py_walker *w)
{
    const struct py_layout *l = &w->rt->layout;
    uint64_t root = w->thread + l->thread.root_cframe, addr, frame;
    if (py_step_word(w, w->thread + l->thread.cframe, &addr) < 0)
        return PY_WALK_BAD_MEMORY;
    size_t first = w->out->n, left = w->out->n_left;
    struct cframe c = {0};
    enum py_walk_end end = read_cframe(w, addr, &c);
    if (end != PY_WALK_DONE)
        return end;
    uint64_t above = c.previous;
    end = walk_top(w, &c, &frame);
    if (end == PY_WALK_TORN) {
        drop_top(w, first, left);
        /* The caller's cframe lies further up the stack, or is the thread state's. */
        if (above <= addr && above != root)
            return PY_WALK_CUT;
        end = read_cframe(w, above, &c);
        frame = c.current_frame;
    }
    if (end != PY_WALK_DONE)
        return end;
    return l->traits.chain == PY_CHAIN_IS_ENTRY ? walk_entries(w, &c) : walk_shims(w, frame);
}

/* The same from the cframe at ADDR, if it is one. */
static enum py_walk_end walk_from_cframe(struct py_walker *w, uint64_t addr)
{
    const struct py_layout *l = &w->rt->layout;
    struct cframe c = {0};
    uint64_t frame = 0;
    enum py_walk_end end = read_cframe(w, addr, &c);
    if (end != PY_WALK_DONE)
        return end;
    if (c.current_frame == 0 ||
        (c.previous <= addr && c.previous != w->thread + l->thread.root_cframe))
        return PY_WALK_CUT;
    end = walk_top(w, &c, &frame);
    if (end != PY_WALK_DONE)
        return end;
    if (l->traits.chain == PY_CHAIN_IS_ENTRY)
        return walk_entries(w, &c);
    /* 3.12: words that name a shim look like a cframe, too.  The caller's cframe says where the
     * shim of a real one leads. */
    end = read_cframe(w, c.previous, &c);
    if (end == PY_WALK_DONE && c.current_frame != frame)
        end = PY_WALK_CUT;
    return end == PY_WALK_DONE ? walk_shims(w, frame) : end;
}

static enum py_walk_end walk_thread(struct py_walker *w)
{
    const struct py_layout *l = &w->rt->layout;
    size_t first = w->out->n;
    uint64_t frame;
    enum py_walk_end end;
    switch (l->traits.chain) {
    case PY_CHAIN_OBJECTS:
        return walk_objects(w);
    case PY_CHAIN_OBJECTS_CFRAME:
        end = walk_objects(w);
        if (end == PY_WALK_DONE)
            mark_by_cframes(w, first);
        return end;
    case PY_CHAIN_IS_ENTRY:
    case PY_CHAIN_SHIM_CFRAME:
        return walk_cframes(w);
    case PY_CHAIN_SHIM:
        break;
    }
    if (l->thread.base_frame != PY_ABSENT &&
        py_step_word(w, w->thread + l->thread.base_frame, &w->base_frame) < 0)
        return PY_WALK_BAD_MEMORY;
    int error = py_step_word(w, w->thread + l->thread.frame, &frame);
    return error < 0 ? PY_WALK_BAD_MEMORY : walk_shims(w, frame);
}

static void begin(struct py_stack *out)
{
    out->n = out->n_left = 0;
    out->end = PY_WALK_DONE;
}

int py_walk(const struct py_runtime *rt, struct mem *mem, const uint64_t *thread_states, size_t n,
            struct py_stack *out)
{
    int error = 0;
    begin(out);
    out->n_states = n < PY_MAX_STATES ? n : PY_MAX_STATES;
    for (size_t i = 0; i < out->n_states; i++) {
        struct py_walker w = {.rt = rt, .mem = mem, .out = out, .thread = thread_states[i]};
        py_step_note_end(out, walk_thread(&w));
        out->states[i] = thread_states[i];
        out->state_ends[i] = out->n;
        error = error ? error : w.error;
    }
    return error;
}

static bool has_cframes(const struct py_runtime *rt)
{
    return rt->layout.cframe.current_frame != PY_ABSENT;
}

/* Walks from ADDR, if a sound chain begins there.  *STEPS: those of the search so far. */
static bool walk_caller(const struct py_runtime *rt, struct mem *mem, uint64_t thread_state,
                        uint64_t addr, size_t *steps, struct py_stack *out)
{
    struct py_walker w = {.rt = rt,
                          .mem = mem,
                          .out = out,
                          .thread = thread_state,
                          .code_unread = true,
                          .steps_before = *steps};
    begin(out);
    enum py_walk_end end = walk_from_cframe(&w, addr);
    *steps += w.steps;
    if (end == PY_WALK_DONE) {
        out->end = PY_WALK_TORN;
        return true;
    }
    begin(out);
    out->end = PY_WALK_CUT;
    return false;
}

bool py_walk_caller(const struct py_runtime *rt, struct mem *mem, uint64_t thread_state,
                    uint64_t low, uint64_t high, struct py_stack *out)
{
    enum { MAX_C_FRAME_BYTES = 8192 }; /* the eval loop's C frame has some 500 bytes */
    if (!has_cframes(rt))
        return false;
    if (high - low > MAX_C_FRAME_BYTES)
        high = low + MAX_C_FRAME_BYTES;
    size_t steps = 0;
    for (uint64_t addr = (low + 7) / 8 * 8; addr < high; addr += 8)
        if (walk_caller(rt, mem, thread_state, addr, &steps, out))
            return true;
    return false;
}

void py_walk_record_callers(const struct py_runtime *rt, struct mem *recording,
                            uint64_t thread_state, struct py_stack *scratch)
{
    enum { REACH_BYTES = 2048 }; /* activations with generators between are some 700 bytes apart */
    uint64_t cframe;
    if (!has_cframes(rt) ||
        mem_read_u64(recording, thread_state + rt->layout.thread.cframe, &cframe) < 0 ||
        cframe == thread_state + rt->layout.thread.root_cframe) /* it runs no Python */
        return;
    size_t steps = PY_MAX_STEPS - PY_MAX_RECORDED_STEPS;
    for (uint64_t by = 8; by < REACH_BYTES && steps <= PY_MAX_STEPS; by += 8)
        (void)walk_caller(rt, recording, thread_state, cframe + by, &steps, scratch);
}
