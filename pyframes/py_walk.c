/* The frame chains of CPython 3.6 to 3.15; see py_walk.h.  Reads frames only: whether a code
 * object is one is py_code's to say, but for the top, which may be stale. */
#include "pyframes/py_walk.h"

#include <errno.h>
#include <string.h>

#include "pyframes/py_layout.h"

enum frame_owner {
    OWNER_GENERATOR = 1,
    OWNER_FRAME_OBJECT = 2, /* of a function that has returned: never in a running chain */
    OWNER_SHIM = 3,         /* 3.12+; and what is above: no Python function */
};

/* Frames without a code object, as the shim of each block, count too.  The search for callers takes
 * less: the thread is held meanwhile, and most frames were read with their chunk before. */
enum { MAX_STEPS = 2 * PY_MAX_FRAMES, MAX_KEPT_STEPS = 1024 };

struct py_walker {
    const struct py_runtime *rt;
    struct mem *mem;
    struct py_stack *out;
    uint64_t thread;     /* the thread state */
    uint64_t base_frame; /* 3.15: ends the chain; else 0 */
    int error;           /* of the first read that failed */
    bool code_unread; /* the capture did not come here: code objects are not among what it read */
    /* Brent's cycle search: the address seen at step MARKED_STEP, a power of two. */
    uint64_t marked;
    size_t steps, marked_step;
    size_t steps_before; /* of walks that count as one with this */
};

/* A frame as read. */
struct step {
    uint64_t addr, previous, code, instr;
    int32_t lasti;
    uint32_t copy;
    uint8_t owner;
    bool is_entry;
};

struct cframe {
    uint64_t addr, current_frame, previous;
};

static bool is_address(uint64_t addr)
{
    enum { LOWEST = 4096 };
    return addr >= LOWEST && addr < UINT64_C(1) << 47 && addr % 8 == 0;
}

static int read_word(struct py_walker *w, uint64_t addr, uint64_t *ret)
{
    int r = mem_read_u64(w->mem, addr, ret);
    if (r < 0 && w->error == 0)
        w->error = r;
    return r;
}

static uint8_t byte_at(const uint8_t *bytes, uint32_t offset)
{
    return offset == PY_ABSENT ? 0 : bytes[offset];
}

/* Is ADDR where the search left its mark?  Finds every cycle of N frames within 3 N steps. */
static bool led_back(struct py_walker *w, uint64_t addr)
{
    if (w->steps > 0 && addr == w->marked)
        return true;
    if (++w->steps >= 2 * w->marked_step) {
        w->marked = addr;
        w->marked_step = w->steps;
    }
    return false;
}

static int32_t lasti_of(const struct py_layout *l, const struct step *s)
{
    if (l->frame.lasti != PY_ABSENT) {
        if (s->lasti > INT32_MAX / 2)
            return PY_LASTI_UNKNOWN;
        return s->lasti < 0 ? PY_LASTI_NOT_STARTED : s->lasti * (int32_t)l->lasti_unit;
    }
    if (s->copy != 0)
        return PY_LASTI_UNKNOWN;
    /* 3.11 and 3.12 begin one instruction, two bytes, before the first. */
    uint64_t first = s->code + l->code.bytecode;
    if (s->instr == first - 2)
        return PY_LASTI_NOT_STARTED;
    uint64_t offset = s->instr - first;
    return offset <= INT32_MAX ? (int32_t)offset : PY_LASTI_UNKNOWN;
}

static enum py_walk_end read_step(struct py_walker *w, uint64_t addr, struct step *ret)
{
    const struct py_layout *l = &w->rt->layout;
    uint8_t bytes[PY_FRAME_MAX_BYTES];
    if (!is_address(addr) || led_back(w, addr))
        return PY_WALK_CUT;
    if (w->steps + w->steps_before > MAX_STEPS)
        return PY_WALK_TOO_DEEP;
    int r = mem_read(w->mem, addr, bytes, l->frame.bytes);
    if (r < 0) {
        w->error = w->error ? w->error : r;
        return PY_WALK_BAD_MEMORY;
    }
    *ret = (struct step){
        .addr = addr,
        .previous = py_layout_word(bytes, l->frame.previous),
        .code = py_layout_word(bytes, l->frame.code) & ~l->executable_tags,
        .instr = py_layout_word(bytes, l->frame.instr),
        .owner = byte_at(bytes, l->frame.owner),
        .is_entry = byte_at(bytes, l->frame.is_entry) != 0,
    };
    if (l->frame.lasti != PY_ABSENT)
        memcpy(&ret->lasti, bytes + l->frame.lasti, sizeof ret->lasti);
    if (l->frame.copy != PY_ABSENT)
        memcpy(&ret->copy, bytes + l->frame.copy, sizeof ret->copy);
    return ret->owner == OWNER_FRAME_OBJECT ? PY_WALK_CUT : PY_WALK_DONE;
}

/* The worst that happened to any of the chains stays. */
static void note_end(struct py_stack *out, enum py_walk_end end)
{
    if (out->end == PY_WALK_DONE || (out->end == PY_WALK_TORN && end != PY_WALK_DONE))
        out->end = end;
}

/* A frame whose code is no address is just being made or cleared: it is left out. */
static enum py_walk_end add_frame(struct py_walker *w, const struct step *s, uint64_t marker)
{
    struct py_stack *out = w->out;
    if (!is_address(s->code)) {
        note_end(out, PY_WALK_TORN);
        return PY_WALK_DONE;
    }
    if (out->n >= out->capacity || out->n >= PY_MAX_FRAMES)
        return PY_WALK_TOO_DEEP;
    out->frames[out->n++] = (struct py_frame){
        .self = s->addr,
        .code = s->code,
        .lasti = lasti_of(&w->rt->layout, s),
        .instr = s->instr,
        .copy = s->copy,
        .marker = marker,
    };
    return PY_WALK_DONE;
}

static void close_block(struct py_walker *w, size_t first, uint64_t marker)
{
    struct py_stack *out = w->out;
    if (out->n == first)
        return;
    for (size_t i = first; i < out->n; i++)
        out->frames[i].marker = marker;
    out->frames[out->n - 1].entry = true;
}

/* ≤ 3.10: every frame object is a block. */
static enum py_walk_end walk_objects(struct py_walker *w)
{
    uint64_t addr;
    if (read_word(w, w->thread + w->rt->layout.thread.frame, &addr) < 0)
        return PY_WALK_BAD_MEMORY;
    while (addr != 0) {
        struct step s;
        size_t first = w->out->n;
        enum py_walk_end end = read_step(w, addr, &s);
        if (end == PY_WALK_DONE)
            end = add_frame(w, &s, 0);
        if (end != PY_WALK_DONE)
            return end;
        close_block(w, first, 0);
        addr = s.previous;
    }
    return PY_WALK_DONE;
}

/* 3.10: the CFrames in the order of the frames [FIRST, n).  A CFrame does not name its frame, so
 * they tell something only if there are as many; else the markers stay 0. */
static void mark_by_cframes(struct py_walker *w, size_t first)
{
    const struct py_layout *l = &w->rt->layout;
    struct py_stack *out = w->out;
    uint64_t root = w->thread + l->thread.root_cframe, addr, below = 0;
    size_t i = first;
    if (read_word(w, w->thread + l->thread.cframe, &addr) < 0)
        return;
    while (addr != root && i < out->n && is_address(addr) && addr > below) {
        below = addr;
        out->frames[i++].marker = addr;
        if (read_word(w, addr + l->cframe.previous, &addr) < 0)
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
    if (!is_address(addr))
        return PY_WALK_CUT;
    ret->addr = addr;
    if (read_word(w, addr + l->cframe.current_frame, &ret->current_frame) < 0 ||
        read_word(w, addr + l->cframe.previous, &ret->previous) < 0)
        return PY_WALK_BAD_MEMORY;
    return PY_WALK_DONE;
}

/* 3.11: C's block, from its current frame to the one with is_entry that C's caller called; C becomes that caller.
 * gen.throw() passes by generators that await another: they have no activation, and is_entry is of when they had one. */
static enum py_walk_end entry_block(struct py_walker *w, struct cframe *c)
{
    size_t first = w->out->n;
    struct step s = {.previous = c->current_frame};
    struct cframe caller = {0};
    enum py_walk_end next = read_cframe(w, c->previous, &caller);
    while (!s.is_entry || (s.owner == OWNER_GENERATOR && caller.current_frame != s.previous)) {
        enum py_walk_end end = read_step(w, s.previous, &s);
        if (end == PY_WALK_DONE)
            end = add_frame(w, &s, c->addr);
        if (end != PY_WALK_DONE)
            return end;
    }
    close_block(w, first, c->addr);
    *c = caller;
    return next == PY_WALK_DONE && caller.current_frame != s.previous ? PY_WALK_CUT : next;
}

static void note_left(struct py_stack *out, uint64_t marker)
{
    if (out->n_left < PY_MAX_LEFT)
        out->left[out->n_left++] = marker;
}

/* 3.13 and later: an activation that is just being entered links its frame and shim some instructions before
 * it says what the shim is (Debian 13's build); its code is None by then, and its instruction in no code object. */
static bool is_new_shim(struct py_walker *w, const struct step *s)
{
    const struct py_layout *l = &w->rt->layout;
    uint64_t type;
    if (l->chain != PY_CHAIN_SHIM || w->steps != 2 || w->rt->code_type == 0 ||
        !is_address(s->code) || lasti_of(l, s) != PY_LASTI_UNKNOWN)
        return false;
    return mem_read_u64(w->mem, s->code + l->object.type, &type) == 0 && type != w->rt->code_type;
}

/* 3.12 and later: the block from frame *FRAME to its shim.  *FRAME becomes the first of the next
 * block, 0 at the end of the chain; RET_SHIM the address of the shim, if one was met. */
static enum py_walk_end shim_block(struct py_walker *w, uint64_t *frame, uint64_t *ret_shim)
{
    size_t first = w->out->n;
    struct step s;
    for (uint64_t addr = *frame;; addr = s.previous) {
        if (addr != 0 && addr == w->base_frame) {
            *frame = 0;
            return w->out->n == first ? PY_WALK_DONE : PY_WALK_CUT;
        }
        enum py_walk_end end = read_step(w, addr, &s);
        if (end != PY_WALK_DONE)
            return end;
        if (s.owner >= OWNER_SHIM || is_new_shim(w, &s))
            break;
        end = add_frame(w, &s, 0);
        if (end != PY_WALK_DONE)
            return end;
    }
    if (w->out->n == first)
        note_left(w->out, s.addr);
    close_block(w, first, s.addr);
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

/* Does FRAME run a code object?  True if that cannot be told. */
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
 * links its cframe some instructions before it fills it in: until then both members are what an
 * older call left on the stack, and this returns PY_WALK_TORN; a long chain is none of those.  After PY_WALK_DONE the next block
 * begins at C (3.11) or *RET_FRAME (3.12). */
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
    if (w->rt->layout.chain == PY_CHAIN_IS_ENTRY)
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

/* Forgets the frames from FIRST on, and the markers from LEFT, which were no more than a stale chain. */
static void drop_top(struct py_walker *w, size_t first, size_t left)
{
    w->out->n = first;
    w->out->n_left = left;
    w->error = 0;
    w->steps = w->marked_step = 0;
    note_end(w->out, PY_WALK_TORN);
}

/* 3.11 and 3.12: the top is found through the thread's cframe. */
static enum py_walk_end walk_cframes(struct py_walker *w)
{
    const struct py_layout *l = &w->rt->layout;
    uint64_t root = w->thread + l->thread.root_cframe, addr, frame;
    if (read_word(w, w->thread + l->thread.cframe, &addr) < 0)
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
    return l->chain == PY_CHAIN_IS_ENTRY ? walk_entries(w, &c) : walk_shims(w, frame);
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
    if (l->chain == PY_CHAIN_IS_ENTRY)
        return walk_entries(w, &c);
    /* 3.12: words that name a shim look like a cframe, too, but its caller's says where the shim leads. */
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
    switch (l->chain) {
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
        read_word(w, w->thread + l->thread.base_frame, &w->base_frame) < 0)
        return PY_WALK_BAD_MEMORY;
    int error = read_word(w, w->thread + l->thread.frame, &frame);
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
        note_end(out, walk_thread(&w));
        out->states[i] = thread_states[i];
        out->state_ends[i] = out->n;
        error = error ? error : w.error;
    }
    return error;
}

static bool has_cframes(const struct py_runtime *rt)
{
    return rt->layout.chain == PY_CHAIN_IS_ENTRY || rt->layout.chain == PY_CHAIN_SHIM_CFRAME;
}

/* Walks from ADDR, if a sound chain begins there.  STEPS: of all walks of one search so far. */
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
    enum { MAX_C_FRAME_BYTES = 8192 }; /* of the eval loop's, some 500 bytes */
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

void py_walk_keep_callers(const struct py_runtime *rt, struct mem *recording, uint64_t thread_state,
                          struct py_stack *scratch)
{
    enum { REACH_BYTES = 2048 }; /* two activations with generators between are some 700 apart */
    uint64_t cframe;
    if (!has_cframes(rt) ||
        mem_read_u64(recording, thread_state + rt->layout.thread.cframe, &cframe) < 0 ||
        cframe == thread_state + rt->layout.thread.root_cframe) /* it runs no Python */
        return;
    size_t steps = MAX_STEPS - MAX_KEPT_STEPS;
    for (uint64_t by = 8; by < REACH_BYTES && steps <= MAX_STEPS; by += 8)
        (void)walk_caller(rt, recording, thread_state, cframe + by, &steps, scratch);
}
