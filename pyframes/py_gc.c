#include "pyframes/py_gc.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_self.h"

/* Up to 3.12 a caller of the collector sets the flag before the call and clears it after, this close in
 * all builds tried (docs/python-versions.md). */
enum { AROUND_BYTES = 512, LAST_FLAGGING_CALLER = 12 };

struct py_gc {
    const struct py_runtime *rt;
    struct mem *live;
    struct map calls; /* return address → is it a call of the collector? */
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
    if (gc)
        map_release(&gc->calls);
    free(gc);
    return NULL;
}

/* The flag's address, and how far it lies from the structure that has it: what an instruction says. */
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

void py_gc_keep(const struct py_runtime *rt, struct mem *recording, uint64_t thread_state)
{
    struct flag flag;
    uint32_t set;
    uint64_t frame;
    if (find_flag(rt, recording, thread_state, &flag) &&
        mem_read_u32(recording, flag.addr, &set) == 0 && set &&
        rt->layout.interp.gc_frame != PY_ABSENT)
        (void)mem_read_u64(recording, flag.addr - flag.offset + rt->layout.interp.gc_frame, &frame);
}

static uint32_t u32_at(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Is there in BYTES[FROM, TO) a `mov [reg + OFFSET], …` of 32 bits: of the constant VALUE, or, if ANY, of
 * a register too?  x86-64: 89 or C7, ModRM with mod 2, SIB if its rm is 4, the displacement. */
static bool stores(const uint8_t *bytes, size_t from, size_t to, uint32_t offset, uint32_t value,
                   bool any)
{
    enum {
        MOV_REGISTER = 0x89,
        MOV_CONSTANT = 0xc7,
        MOD = 0xc0,
        MOD_DISP32 = 0x80,
        RM = 7,
        RM_SIB = 4
    };
    enum { LONGEST = 11 };
    for (size_t i = from; i + LONGEST <= to; i++) {
        const uint8_t *at = bytes + i;
        bool constant = at[0] == MOV_CONSTANT;
        if (!(constant || (any && at[0] == MOV_REGISTER)) || (at[1] & MOD) != MOD_DISP32)
            continue;
        at += (at[1] & RM) == RM_SIB ? 3 : 2;
        if (u32_at(at) == offset && (!constant || u32_at(at + 4) == value))
            return true;
    }
    return false;
}

static bool looks_like_call(const struct py_gc *gc, uint64_t pc, uint64_t offset)
{
    uint8_t code[2 * AROUND_BYTES];
    if (mem_read(gc->live, pc - AROUND_BYTES, code, sizeof code) < 0)
        return false;
    return stores(code, 0, AROUND_BYTES, (uint32_t)offset, 1, false) &&
           stores(code, AROUND_BYTES, sizeof code, (uint32_t)offset, 0, true);
}

static bool calls_collector(struct py_gc *gc, const struct native_frame *f, uint64_t offset)
{
    uint64_t known;
    if (!f->is_call || !py_runtime_owns(gc->rt, f->pc))
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

/* From 3.13 on the collector itself keeps the flag's address, from setting it to clearing it. */
static bool keeps_address(const struct py_gc *gc, const struct native_frame *f, struct mem *mem,
                          const struct py_selves *flag)
{
    bool found = false;
    if (py_runtime_owns(gc->rt, f->pc))
        py_self_each(f, mem, flag, note_found, &found);
    return found;
}

static struct py_gc_found find_native(struct py_gc *gc, struct mem *mem, const struct flag *flag,
                                      const struct native_stack *native)
{
    struct py_gc_found ret = {.place = PY_GC_NONE};
    struct py_selves selves = {0};
    py_selves_add(&selves, flag->addr, 0);
    for (size_t i = native->n; i-- > 0 && ret.place == PY_GC_NONE;) {
        const struct native_frame *f = &native->frames[i];
        bool is = gc->rt->layout.minor <= LAST_FLAGGING_CALLER
                      ? calls_collector(gc, f, flag->offset)
                      : keeps_address(gc, f, mem, &selves);
        if (is)
            ret = (struct py_gc_found){PY_GC_NATIVE, i};
    }
    py_selves_release(&selves);
    return ret;
}

/* 3.15 notes the Python frame that was running. */
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
