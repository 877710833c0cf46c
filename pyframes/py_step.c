#include "pyframes/py_step.h"

#include <string.h>

bool py_step_is_address(uint64_t addr)
{
    enum { LOWEST = 4096 };
    return addr >= LOWEST && addr < UINT64_C(1) << 47 && addr % 8 == 0;
}

int py_step_word(struct py_walker *w, uint64_t addr, uint64_t *ret)
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

/* Does the chain lead back to ADDR?  Finds every cycle of N frames within 3 N steps. */
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

int32_t py_step_lasti(const struct py_layout *l, const struct py_step *s)
{
    if (l->frame.lasti != PY_ABSENT) {
        if (s->lasti > INT32_MAX / 2)
            return PY_LASTI_UNKNOWN;
        return s->lasti < 0 ? PY_LASTI_NOT_STARTED : s->lasti * (int32_t)l->traits.lasti_unit;
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

enum py_walk_end py_step_read(struct py_walker *w, uint64_t addr, struct py_step *ret)
{
    const struct py_layout *l = &w->rt->layout;
    uint8_t bytes[PY_FRAME_MAX_BYTES];
    if (!py_step_is_address(addr) || led_back(w, addr))
        return PY_WALK_CUT;
    if (w->steps + w->steps_before > PY_MAX_STEPS)
        return PY_WALK_TOO_DEEP;
    int r = mem_read(w->mem, addr, bytes, l->frame.bytes);
    if (r < 0) {
        w->error = w->error ? w->error : r;
        return PY_WALK_BAD_MEMORY;
    }
    *ret = (struct py_step){
        .addr = addr,
        .previous = py_layout_word(bytes, l->frame.previous),
        .code = py_layout_word(bytes, l->frame.code) & ~(uint64_t)l->traits.executable_tags,
        .instr = py_layout_word(bytes, l->frame.instr),
        .owner = byte_at(bytes, l->frame.owner),
        .is_entry = byte_at(bytes, l->frame.is_entry) != 0,
    };
    if (l->frame.lasti != PY_ABSENT)
        memcpy(&ret->lasti, bytes + l->frame.lasti, sizeof ret->lasti);
    if (l->frame.copy != PY_ABSENT)
        memcpy(&ret->copy, bytes + l->frame.copy, sizeof ret->copy);
    return ret->owner == PY_OWNER_FRAME_OBJECT ? PY_WALK_CUT : PY_WALK_DONE;
}

void py_step_note_end(struct py_stack *out, enum py_walk_end end)
{
    if (out->end == PY_WALK_DONE || (out->end == PY_WALK_TORN && end != PY_WALK_DONE))
        out->end = end;
}

enum py_walk_end py_step_add(struct py_walker *w, const struct py_step *s, uint64_t marker)
{
    struct py_stack *out = w->out;
    if (!py_step_is_address(s->code)) {
        py_step_note_end(out, PY_WALK_TORN);
        return PY_WALK_DONE;
    }
    if (out->n >= out->capacity || out->n >= PY_MAX_FRAMES)
        return PY_WALK_TOO_DEEP;
    out->frames[out->n++] = (struct py_frame){
        .self = s->addr,
        .code = s->code,
        .lasti = py_step_lasti(&w->rt->layout, s),
        .instr = s->instr,
        .copy = s->copy,
        .marker = marker,
    };
    return PY_WALK_DONE;
}

bool py_step_read_one(const struct py_runtime *rt, struct mem *mem, uint64_t addr,
                      struct py_frame *ret)
{
    struct py_stack one = {.frames = ret, .capacity = 1};
    struct py_walker walker = {.rt = rt, .mem = mem, .out = &one};
    struct py_step step;
    return py_step_read(&walker, addr, &step) == PY_WALK_DONE &&
           py_step_add(&walker, &step, 0) == PY_WALK_DONE && one.n == 1;
}

void py_step_close_block(struct py_walker *w, size_t first, uint64_t marker)
{
    struct py_stack *out = w->out;
    if (out->n == first)
        return;
    for (size_t i = first; i < out->n; i++)
        out->frames[i].marker = marker;
    out->frames[out->n - 1].entry = true;
}
