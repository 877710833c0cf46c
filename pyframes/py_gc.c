#include "pyframes/py_gc.h"

#include <stdlib.h>

#include "arch/stores.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "pyframes/py_frame_ptr.h"
#include "pyframes/py_layout.h"

enum {
    /* Up to 3.12 a caller of the collector sets the flag before the call and clears it after,
     * within so many bytes of code in all builds tried (docs/python-versions.md). */
    AROUND_BYTES = 512,
    /* From 3.13 on the collector sets it, within so many bytes from its beginning. */
    BEGIN_BYTES = 128,
};

struct py_gc {
    const struct py_runtime *rt;
    struct mem *live;
    struct map calls;      /* return address → is it a call of the collector? */
    struct map collectors; /* function → is it the collector? */
};

struct py_gc *py_gc_new(const struct py_runtime *rt, struct mem *live)
{
    struct py_gc *gc = xcalloc(1, sizeof *gc);
    gc->rt = rt;
    gc->live = live;
    return gc;
}

struct py_gc *py_gc_free(struct py_gc *gc)
{
    if (!gc)
        return NULL;
    map_release(&gc->calls);
    map_release(&gc->collectors);
    free(gc);
    return NULL;
}

/* The flag's address, and its offset in the structure that has it, which instructions contain. */
struct flag {
    uint64_t addr, offset;
};

static bool find_flag(const struct py_runtime *rt, struct mem *mem, uint64_t thread_state,
                      struct flag *ret)
{
    const struct py_layout *l = &rt->layout;
    uint64_t base = rt->addr;
    ret->offset = l->runtime.collecting;
    if (l->runtime.collecting == PY_ABSENT) {
        ret->offset = l->interp.collecting;
        if (l->interp.collecting == PY_ABSENT ||
            mem_read_u64(mem, thread_state + l->thread.interp, &base) < 0)
            return false;
    }
    ret->addr = base + ret->offset;
    return true;
}

void py_gc_record(const struct py_runtime *rt, struct mem *recording, uint64_t thread_state)
{
    struct flag flag;
    uint32_t set;
    uint64_t frame;
    if (find_flag(rt, recording, thread_state, &flag) &&
        mem_read_u32(recording, flag.addr, &set) == 0 && set &&
        rt->layout.interp.gc_frame != PY_ABSENT)
        (void)mem_read_u64(recording, flag.addr - flag.offset + rt->layout.interp.gc_frame, &frame);
}

static bool looks_like_call(const struct py_gc *gc, uint64_t pc, uint64_t offset)
{
    uint8_t code[2 * AROUND_BYTES];
    if (mem_read(gc->live, pc - AROUND_BYTES, code, sizeof code) < 0)
        return false;
    return code_stores(code, 0, AROUND_BYTES, (uint32_t)offset, 1, false) &&
           code_stores(code, AROUND_BYTES, sizeof code, (uint32_t)offset, 0, true);
}

static bool calls_collector(struct py_gc *gc, const struct native_frame *f, uint64_t offset)
{
    uint64_t known;
    if (!f->is_call)
        return false;
    if (map_get(&gc->calls, f->pc, &known))
        return known;
    known = looks_like_call(gc, f->pc, offset);
    map_put(&gc->calls, f->pc, known);
    return known;
}

static void note_found(void *ctx, uint64_t ix, uint64_t place)
{
    (void)ix, (void)place;
    *(bool *)ctx = true;
}

/* From 3.13 on: code by gcc keeps the flag's address from setting to clearing it. */
static bool keeps_address(const struct native_frame *f, struct mem *mem,
                          const struct py_frame_ptrs *flag)
{
    bool found = false;
    py_frame_ptr_each(f, mem, flag, note_found, &found);
    return found;
}

/* Code by clang keeps the address of the structure instead, as other functions do. */
static bool begins_with_flag(struct py_gc *gc, const struct native_frame *f, uint64_t offset)
{
    uint8_t code[BEGIN_BYTES];
    uint64_t known;
    if (!f->function)
        return false;
    if (map_get(&gc->collectors, f->function, &known))
        return known;
    known = mem_read(gc->live, f->function, code, sizeof code) == 0 &&
            code_exchanges(code, sizeof code, (uint32_t)offset);
    map_put(&gc->collectors, f->function, known);
    return known;
}

static bool is_collector(struct py_gc *gc, const struct native_frame *f, struct mem *mem,
                         const struct flag *flag, const struct py_frame_ptrs *flags)
{
    if (!py_runtime_owns(gc->rt, f->pc))
        return false;
    if (gc->rt->layout.traits.collector_sets_flag)
        return keeps_address(f, mem, flags) || begins_with_flag(gc, f, flag->offset);
    return calls_collector(gc, f, flag->offset);
}

static struct py_gc_found find_native(struct py_gc *gc, struct mem *mem, const struct flag *flag,
                                      const struct native_stack *native)
{
    struct py_gc_found ret = {.place = PY_GC_NONE};
    struct py_frame_ptrs ptrs = {0};
    py_frame_ptrs_clear(&ptrs);
    py_frame_ptrs_add(&ptrs, flag->addr, 0);
    for (size_t i = native->n; i-- > 0 && ret.place == PY_GC_NONE;)
        if (is_collector(gc, &native->frames[i], mem, flag, &ptrs))
            ret = (struct py_gc_found){PY_GC_NATIVE, i};
    py_frame_ptrs_release(&ptrs);
    return ret;
}

/* 3.15 notes the Python frame that set the collection off. */
static struct py_gc_found find_frame(const struct py_gc *gc, struct mem *mem,
                                     const struct flag *flag, const struct py_stack *py)
{
    uint64_t frame;
    uint64_t interp = flag->addr - flag->offset;
    if (mem_read_u64(mem, interp + gc->rt->layout.interp.gc_frame, &frame) < 0)
        frame = 0;
    for (size_t i = 0; frame && i < py->n; i++)
        if (py->frames[i].self == frame)
            return (struct py_gc_found){PY_GC_PYTHON, i};
    return (struct py_gc_found){.place = PY_GC_NONE};
}

struct py_gc_found py_gc_find(struct py_gc *gc, struct mem *mem, const uint64_t *thread_states,
                              size_t n, const struct native_stack *native,
                              const struct py_stack *py)
{
    struct py_gc_found ret = {.place = PY_GC_NONE};
    for (size_t i = 0; i < n && ret.place == PY_GC_NONE; i++) {
        struct flag flag;
        uint32_t set;
        if (!find_flag(gc->rt, mem, thread_states[i], &flag) ||
            mem_read_u32(mem, flag.addr, &set) < 0 || set == 0)
            continue;
        ret = gc->rt->layout.interp.gc_frame != PY_ABSENT ? find_frame(gc, mem, &flag, py)
                                                          : find_native(gc, mem, &flag, native);
    }
    return ret;
}
