#include "pyframes/py_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pyframes/py_layout.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

/* A target's memory: THREAD at its start, a "C stack" at STACK, frames at FRAMES, code objects at
 * CODE + i * CODE_BYTES, whose type is TYPE. */
enum {
    BASE = 0x100000,
    THREAD = BASE,
    STACK = BASE + 0x2000,
    FRAMES = BASE + 0x4000,
    FRAME_BYTES = 0x100,
    CODE = BASE + 0x8000,
    CODE_BYTES = 0x100,
    TYPE = BASE + 0xf000,
    ARENA_BYTES = 0x10000,
    CAPACITY = 32,
};
static const uint64_t one_thread[] = {THREAD};

struct fake {
    struct bytes_mem memory;
    uint8_t bytes[ARENA_BYTES];
    struct py_runtime rt;
    struct py_frame frames[CAPACITY];
    struct py_stack out;
};

static void put(struct fake *f, uint64_t addr, uint64_t value)
{
    memcpy(f->bytes + (addr - BASE), &value, sizeof value);
}

static uint64_t frame_addr(size_t i)
{
    return FRAMES + i * FRAME_BYTES;
}

static uint64_t code_addr(size_t i)
{
    return CODE + i * CODE_BYTES;
}

/* Frame I, called by PREVIOUS, 2 * I bytes into its code. */
static void put_frame(struct fake *f, size_t i, uint64_t previous)
{
    const struct py_layout *l = &f->rt.layout;
    uint64_t addr = frame_addr(i);
    put(f, addr + l->frame.previous, previous);
    put(f, addr + l->frame.code, code_addr(i) | l->traits.executable_tags);
    put(f, code_addr(i) + l->object.type, TYPE);
    if (l->frame.instr != PY_ABSENT)
        put(f, addr + l->frame.instr, code_addr(i) + l->code.bytecode + 2 * i);
    else
        f->bytes[addr - BASE + l->frame.lasti] = (uint8_t)(2 * i / l->traits.lasti_unit);
}

static void put_shim(struct fake *f, uint64_t addr, uint64_t previous)
{
    put(f, addr + f->rt.layout.frame.previous, previous);
    f->bytes[addr - BASE + f->rt.layout.frame.owner] = 3;
}

static void put_cframe(struct fake *f, uint64_t addr, uint64_t current, uint64_t previous)
{
    put(f, addr + f->rt.layout.cframe.previous, previous);
    if (f->rt.layout.cframe.current_frame != PY_ABSENT)
        put(f, addr + f->rt.layout.cframe.current_frame, current);
}

static struct fake *fake_new(uint32_t minor)
{
    struct fake *f = calloc(1, sizeof *f);
    f->memory = bytes_mem_of(BASE, f->bytes, sizeof f->bytes);
    f->rt.code_type = TYPE;
    f->out = (struct py_stack){.frames = f->frames, .capacity = CAPACITY};
    if (minor <= 12) {
        f->rt.layout = *py_layout_of(minor);
        return f;
    }
    f->rt.layout = *py_layout_of(12);
    f->rt.layout.minor = minor;
    f->rt.layout.traits = *py_traits_of(minor);
    f->rt.layout.thread.frame = 72;
    if (minor > 14)
        f->rt.layout.thread.base_frame = 80;
    return f;
}

static void root_cframe(struct fake *f, uint64_t cframe)
{
    put(f, THREAD + f->rt.layout.thread.cframe, cframe);
}

/* Frames 0 1 | 2 | 3 4, innermost first; | is the boundary between two activations.  Up to 3.10
 * each frame has its own. */
static void fill(struct fake *f)
{
    const struct py_layout *l = &f->rt.layout;
    uint64_t root = THREAD + (l->thread.root_cframe == PY_ABSENT ? 0 : l->thread.root_cframe);
    bool shims = l->traits.chain == PY_CHAIN_SHIM || l->traits.chain == PY_CHAIN_SHIM_CFRAME;
    for (size_t i = 0; i < 5; i++)
        put_frame(f, i, i == 4 ? 0 : frame_addr(i + 1));
    if (l->thread.frame != PY_ABSENT)
        put(f, THREAD + l->thread.frame, frame_addr(0));
    if (l->thread.cframe != PY_ABSENT)
        root_cframe(f, STACK + 0x40);
    if (l->traits.chain == PY_CHAIN_OBJECTS_CFRAME)
        for (uint64_t i = 0; i < 5; i++)
            put_cframe(f, STACK + 0x40 + i * 0x200, 0, i == 4 ? root : STACK + 0x240 + i * 0x200);
    if (l->traits.chain == PY_CHAIN_IS_ENTRY || l->traits.chain == PY_CHAIN_SHIM_CFRAME) {
        put_cframe(f, STACK + 0x40, frame_addr(0), STACK + 0x440);
        put_cframe(f, STACK + 0x440, frame_addr(2), STACK + 0x840);
        put_cframe(f, STACK + 0x840, frame_addr(3), root);
    }
    static const size_t entries[] = {1, 2, 4};
    for (size_t i = 0; i < 3; i++) {
        if (l->traits.chain == PY_CHAIN_IS_ENTRY)
            f->bytes[frame_addr(entries[i]) - BASE + l->frame.is_entry] = 1;
        if (!shims)
            continue;
        uint64_t shim = STACK + 0x80 + i * 0x400;
        put(f, frame_addr(entries[i]) + l->frame.previous, shim);
        put_shim(f, shim, i == 2 ? 0 : frame_addr(entries[i] + 1));
    }
    if (l->thread.base_frame == PY_ABSENT)
        return;
    put(f, THREAD + l->thread.base_frame, THREAD + 0x800);
    put_shim(f, THREAD + 0x800, 0);
    put_shim(f, STACK + 0x880, THREAD + 0x800);
}

static int walk(struct fake *f)
{
    f->memory.reads = 0;
    return py_walk(&f->rt, &f->memory.mem, one_thread, 1, &f->out);
}

static uint64_t expected_marker(const struct fake *f, size_t i)
{
    static const uint64_t block[] = {0, 0, 1, 2, 2};
    switch (f->rt.layout.traits.chain) {
    case PY_CHAIN_OBJECTS:
        return 0;
    case PY_CHAIN_OBJECTS_CFRAME:
        return STACK + 0x40 + i * 0x200;
    case PY_CHAIN_IS_ENTRY:
        return STACK + 0x40 + block[i] * 0x400;
    case PY_CHAIN_SHIM_CFRAME:
    case PY_CHAIN_SHIM:
        break;
    }
    return STACK + 0x80 + block[i] * 0x400;
}

/* The frames that were walked must be FIRST, FIRST + 1, … as fill() made them. */
static void check_frames(const struct fake *f, size_t first)
{
    bool each = f->rt.layout.minor <= 10;
    for (size_t i = 0; i < f->out.n; i++) {
        const struct py_frame *p = &f->out.frames[i];
        size_t k = first + i;
        ck_assert_uint_eq(p->self, frame_addr(k));
        ck_assert_uint_eq(p->code, code_addr(k));
        ck_assert_int_eq(p->lasti, (int32_t)(2 * k));
        ck_assert_int_eq(p->entry, each || k == 1 || k == 2 || k == 4);
        ck_assert_uint_eq(p->marker, expected_marker(f, k));
    }
}

START_TEST(every_version_is_walked)
{
    for (uint32_t minor = 6; py_traits_of(minor); minor++) {
        struct fake *f = fake_new(minor);
        fill(f);
        ck_assert_int_eq(walk(f), 0);
        ck_assert_uint_eq(f->out.n, 5);
        ck_assert_int_eq(f->out.end, PY_WALK_DONE);
        check_frames(f, 0);
        free(f);
    }
}
END_TEST

/* Whichever read fails, the frames are a true part of the stack, and the failure shows. */
START_TEST(every_read_may_fail)
{
    for (uint32_t minor = 6; py_traits_of(minor); minor++) {
        struct fake *f = fake_new(minor);
        fill(f);
        for (f->memory.fail_at = 0; walk(f), f->memory.reads > f->memory.fail_at;
             f->memory.fail_at++) {
            bool markers_only = minor == 10 && f->out.n == 5;
            ck_assert(markers_only || f->out.end != PY_WALK_DONE);
            ck_assert_uint_le(f->out.n, 5);
            for (size_t i = 0; i < f->out.n; i++) {
                uint64_t marker = f->out.frames[i].marker;
                size_t k = (f->out.frames[i].self - FRAMES) / FRAME_BYTES;
                ck_assert(marker == 0 || marker == expected_marker(f, k));
            }
        }
        ck_assert_uint_eq(f->out.n, 5);
        free(f);
    }
}
END_TEST

START_TEST(cycles_end)
{
    for (uint32_t minor = 6; py_traits_of(minor); minor++)
        for (size_t back = 0; back < 5; back++) {
            struct fake *f = fake_new(minor);
            fill(f);
            f->rt.layout.thread.base_frame = PY_ABSENT;
            uint64_t last = frame_addr(4);
            if (minor >= 12)
                last = STACK + 0x880;
            put(f, last + f->rt.layout.frame.previous, frame_addr(back));
            (void)walk(f);
            ck_assert_int_ne(f->out.end, PY_WALK_DONE);
            ck_assert_uint_le(f->out.n, CAPACITY);
            free(f);
        }
}
END_TEST

/* Every word replaced by garbage, one at a time: no crash, no endless walk. */
START_TEST(garbage_is_survived)
{
    static const uint64_t garbage[] = {
        0, 1, 8, BASE + 3, BASE + 8, STACK, BASE + ARENA_BYTES - 8, UINT64_C(1) << 47, UINT64_MAX};
    for (uint32_t minor = 6; py_traits_of(minor); minor++) {
        struct fake *f = fake_new(minor);
        fill(f);
        for (uint64_t at = BASE; at < CODE; at += 8) {
            uint64_t old;
            memcpy(&old, f->bytes + (at - BASE), sizeof old);
            if (old == 0)
                continue;
            for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
                put(f, at, garbage[i]);
                (void)walk(f);
                ck_assert_uint_le(f->out.n, CAPACITY);
            }
            put(f, at, old);
        }
        free(f);
    }
}
END_TEST

START_TEST(capacity_is_kept)
{
    for (uint32_t minor = 6; py_traits_of(minor); minor++) {
        struct fake *f = fake_new(minor);
        fill(f);
        f->out.capacity = 1;
        (void)walk(f);
        ck_assert_uint_eq(f->out.n, 1);
        ck_assert_uint_eq(f->out.frames[0].self, frame_addr(0));
        ck_assert_int_eq(f->out.end, PY_WALK_TOO_DEEP);
        free(f);
    }
}
END_TEST

/* 3.11, 3.12: the cframe is linked before its members are written. */
START_TEST(stale_top_cframe_is_left_out)
{
    static const uint64_t stale[] = {0x1a0, STACK + 0x100, BASE + ARENA_BYTES + 64, UINT64_MAX};
    for (uint32_t minor = 11; minor <= 12; minor++)
        for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
            struct fake *f = fake_new(minor);
            fill(f);
            put_cframe(f, STACK + 0x10, stale[i], STACK + 0x40);
            root_cframe(f, STACK + 0x10);
            ck_assert_int_eq(walk(f), 0);
            ck_assert_int_eq(f->out.end, PY_WALK_TORN);
            ck_assert_uint_eq(f->out.n, 5);
            check_frames(f, 0);
            put_cframe(f, STACK + 0x10, stale[i], stale[i]);
            (void)walk(f);
            ck_assert_uint_eq(f->out.n, 0);
            ck_assert_int_ne(f->out.end, PY_WALK_DONE);
            free(f);
        }
}
END_TEST

START_TEST(stale_top_leaves_its_caller)
{
    for (uint32_t minor = 11; minor <= 12; minor++) {
        struct fake *f = fake_new(minor);
        fill(f);
        ck_assert(
            py_walk_caller(&f->rt, &f->memory.mem, THREAD, STACK + 0x21, STACK + 0x100, &f->out));
        ck_assert_int_eq(f->out.end, PY_WALK_TORN);
        ck_assert_uint_eq(f->out.n, 5);
        check_frames(f, 0);
        ck_assert(
            py_walk_caller(&f->rt, &f->memory.mem, THREAD, STACK + 0x100, UINT64_MAX, &f->out));
        ck_assert_uint_eq(f->out.n, 3);
        check_frames(f, 2);
        ck_assert(
            !py_walk_caller(&f->rt, &f->memory.mem, THREAD, STACK + 0x90, STACK + 0x440, &f->out));
        ck_assert_int_eq(f->out.end, PY_WALK_CUT);
        ck_assert_uint_eq(f->out.n, 0);
        free(f);
    }
    struct fake *f = fake_new(13);
    fill(f);
    ck_assert(!py_walk_caller(&f->rt, &f->memory.mem, THREAD, STACK, STACK + 0x100, &f->out));
    free(f);
}
END_TEST

/* 3.12: below the caller's cframe are its shim's address and one further up, or a frame's. */
START_TEST(words_that_name_a_frame_are_no_caller)
{
    static const uint64_t names[] = {STACK + 0x880, FRAMES + 3 * FRAME_BYTES};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct fake *f = fake_new(12);
        fill(f);
        put_cframe(f, STACK + 0x820, names[i], STACK + 0xa00);
        put(f, STACK + 0xa00 + f->rt.layout.cframe.current_frame, frame_addr(1));
        ck_assert(
            py_walk_caller(&f->rt, &f->memory.mem, THREAD, STACK + 0x800, STACK + 0x900, &f->out));
        ck_assert_uint_eq(f->out.n, 2);
        check_frames(f, 3);
        put_cframe(f, STACK + 0x840, 0, 0);
        ck_assert(
            !py_walk_caller(&f->rt, &f->memory.mem, THREAD, STACK + 0x800, STACK + 0x900, &f->out));
        ck_assert_int_eq(f->out.end, PY_WALK_CUT);
        ck_assert_uint_eq(f->out.n_left, 0);
        free(f);
    }
}
END_TEST

/* 3.12: a destructor is entered from an activation that has left its last frame. */
START_TEST(a_caller_may_have_no_frame_any_more)
{
    struct fake *f = fake_new(12);
    fill(f);
    put_cframe(f, STACK + 0x440, STACK + 0x480, STACK + 0x840);
    put_cframe(f, STACK + 0x460, frame_addr(2), STACK + 0xa00); /* the frame as it was */
    put(f, STACK + 0xa00 + f->rt.layout.cframe.current_frame, frame_addr(1));
    ck_assert(
        py_walk_caller(&f->rt, &f->memory.mem, THREAD, STACK + 0x400, STACK + 0x500, &f->out));
    ck_assert_uint_eq(f->out.n, 2);
    ck_assert_uint_eq(f->out.n_left, 1);
    ck_assert_uint_eq(f->out.left[0], STACK + 0x480);
    check_frames(f, 3);
    free(f);
}
END_TEST

/* 3.13 and later: the top activation's shim is linked before it is marked as one. */
START_TEST(shim_in_the_making_is_one)
{
    for (uint32_t minor = 13; py_traits_of(minor); minor++) {
        struct fake *f = fake_new(minor);
        fill(f);
        put(f, frame_addr(0) + f->rt.layout.frame.previous, STACK + 0x40);
        put_shim(f, STACK + 0x40, frame_addr(1));
        put(f, STACK + 0x40 + f->rt.layout.frame.code,
            code_addr(9) | f->rt.layout.traits.executable_tags);
        put(f, code_addr(9) + f->rt.layout.object.type, TYPE + 0x100);
        f->bytes[STACK + 0x40 + f->rt.layout.frame.owner - BASE] = 0;
        ck_assert_int_eq(walk(f), 0);
        ck_assert_int_eq(f->out.end, PY_WALK_DONE);
        ck_assert_uint_eq(f->out.n, 5);
        ck_assert(f->out.frames[0].entry);
        ck_assert_uint_eq(f->out.frames[0].marker, STACK + 0x40);
        ck_assert_uint_eq(f->out.frames[1].marker, STACK + 0x80);
        free(f);
    }
}
END_TEST

START_TEST(activations_without_frames_are_told)
{
    for (uint32_t minor = 12; py_traits_of(minor); minor++) {
        struct fake *f = fake_new(minor);
        fill(f);
        put_shim(f, STACK + 0x80, STACK + 0x480);
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(walk(f), 0);
            ck_assert_int_eq(f->out.end, PY_WALK_DONE);
            ck_assert_uint_eq(f->out.n, 4);
            ck_assert_uint_eq(f->out.frames[2].marker, STACK + 0x880);
            ck_assert_uint_eq(f->out.n_left, 1);
            ck_assert_uint_eq(f->out.left[0], STACK + 0x480);
        }
        free(f);
    }
}
END_TEST

START_TEST(unequal_310_chains_give_no_markers)
{
    struct fake *f = fake_new(10);
    fill(f);
    put_cframe(f, STACK + 0x10, 0, STACK + 0x40);
    root_cframe(f, STACK + 0x10);
    ck_assert_int_eq(walk(f), 0);
    ck_assert_uint_eq(f->out.n, 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(f->out.frames[i].marker, 0);
    free(f);
}
END_TEST

START_TEST(frames_without_code_are_left_out)
{
    struct fake *f = fake_new(13);
    fill(f);
    put(f, frame_addr(1) + f->rt.layout.frame.code, 0);
    ck_assert_int_eq(walk(f), 0);
    ck_assert_uint_eq(f->out.n, 4);
    ck_assert_int_eq(f->out.end, PY_WALK_TORN);
    ck_assert(f->out.frames[0].entry);
    ck_assert_uint_eq(f->out.frames[0].marker, STACK + 0x80);
    free(f);
}
END_TEST

/* A gigabyte of frames, each the next one's, all of them shims or without code. */
static int endless_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    const struct fake *f = (const struct fake *)m;
    uint64_t next = addr + FRAME_BYTES;
    memset(buf, 0, len);
    if (len <= sizeof next) {
        memcpy(buf, &next, len);
        return 0;
    }
    memcpy((uint8_t *)buf + f->rt.layout.frame.previous, &next, sizeof next);
    if (f->rt.layout.frame.owner != PY_ABSENT)
        ((uint8_t *)buf)[f->rt.layout.frame.owner] = 3;
    return 0;
}

START_TEST(chains_without_code_end)
{
    static const struct mem_ops endless = {.read = endless_read};
    static const uint32_t minors[] = {6, 10, 12, 13, 15};
    for (size_t i = 0; i < sizeof minors / sizeof *minors; i++) {
        struct fake *f = fake_new(minors[i]);
        f->memory.mem.ops = &endless;
        f->rt.code_type = 0;
        (void)walk(f);
        ck_assert_uint_eq(f->out.n, 0);
        ck_assert(f->out.end == PY_WALK_TOO_DEEP || f->out.end == PY_WALK_TORN ||
                  f->out.end == PY_WALK_CUT);
        free(f);
    }
}
END_TEST

START_TEST(not_started_and_unknown_offsets)
{
    struct fake *f = fake_new(12);
    fill(f);
    put(f, frame_addr(0) + f->rt.layout.frame.instr, code_addr(0) + f->rt.layout.code.bytecode - 2);
    put(f, frame_addr(1) + f->rt.layout.frame.instr, 1);
    ck_assert_int_eq(walk(f), 0);
    ck_assert_int_eq(f->out.frames[0].lasti, PY_LASTI_NOT_STARTED);
    ck_assert_int_eq(f->out.frames[1].lasti, PY_LASTI_UNKNOWN);
    free(f);
    f = fake_new(10);
    fill(f);
    memset(f->bytes + (frame_addr(0) - BASE) + f->rt.layout.frame.lasti, 0xff, 4);
    f->bytes[frame_addr(1) - BASE + f->rt.layout.frame.lasti + 3] = 0x7f;
    ck_assert_int_eq(walk(f), 0);
    ck_assert_int_eq(f->out.frames[1].lasti, PY_LASTI_UNKNOWN);
    ck_assert_int_eq(f->out.frames[0].lasti, PY_LASTI_NOT_STARTED);
    free(f);
}
END_TEST

CHECK_MAIN("py_walk", 20, every_version_is_walked, every_read_may_fail, cycles_end,
           garbage_is_survived, capacity_is_kept, stale_top_cframe_is_left_out,
           stale_top_leaves_its_caller, words_that_name_a_frame_are_no_caller,
           a_caller_may_have_no_frame_any_more, shim_in_the_making_is_one,
           activations_without_frames_are_told, unequal_310_chains_give_no_markers,
           frames_without_code_are_left_out, chains_without_code_end,
           not_started_and_unknown_offsets)
