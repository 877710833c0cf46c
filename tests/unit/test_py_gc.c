#include "pyframes/py_gc.h"

#include <string.h>

#include "pyframes/py_layout.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

/* A target of 3.11: a thread state, its interpreter, code around the return address PC. */
enum {
    BASE = 0x100000,
    THREAD = BASE,
    INTERP = BASE + 0x400,
    CODE = BASE + 0x1000,
    PC = CODE + 0x400,
    ARENA_BYTES = 0x2000,
    MOV_BYTES = 11,
};

static uint8_t bytes[ARENA_BYTES];
static struct bytes_mem arena;
static struct py_runtime rt;
static struct py_frame none[1];

/* movl $VALUE, OFFSET(%r12) */
static void put_store(uint64_t addr, uint32_t offset, uint32_t value)
{
    static const uint8_t mov[] = {0xc7, 0x84, 0x24};
    uint8_t *at = bytes + (addr - BASE);
    memcpy(at, mov, sizeof mov);
    memcpy(at + sizeof mov, &offset, sizeof offset);
    memcpy(at + sizeof mov + sizeof offset, &value, sizeof value);
}

static void begin(uint32_t collecting)
{
    uint64_t interp = INTERP;
    memset(bytes, 0, sizeof bytes);
    arena = bytes_mem_of(BASE, bytes, sizeof bytes);
    rt = (struct py_runtime){
        .layout = *py_layout_of(11), .module_start = CODE, .module_end = BASE + ARENA_BYTES};
    memcpy(bytes + rt.layout.thread.interp, &interp, sizeof interp);
    memcpy(bytes + (INTERP - BASE) + rt.layout.interp.collecting, &collecting, sizeof collecting);
}

/* lock cmpxchg %esi, OFFSET(%r13) */
static void put_exchange(uint64_t addr, uint32_t offset)
{
    static const uint8_t exchange[] = {0xf0, 0x41, 0x0f, 0xb1, 0xb5};
    uint8_t *at = bytes + (addr - BASE);
    memcpy(at, exchange, sizeof exchange);
    memcpy(at + sizeof exchange, &offset, sizeof offset);
}

/* The second of two C frames returns to PC.  Is it the collector's caller? */
static bool found(void)
{
    static const uint64_t threads[] = {THREAD};
    struct native_frame frames[] = {{.pc = CODE + 8},
                                    {.pc = PC, .function = CODE, .is_call = true}};
    struct native_stack native = {.frames = frames, .n = 2, .capacity = 2};
    struct py_stack py = {.frames = none, .capacity = 1};
    struct py_gc *gc = py_gc_new(&rt, &arena.mem);
    struct py_gc_found got = py_gc_find(gc, &arena.mem, threads, 1, &native, &py);
    py_gc_free(gc);
    ck_assert(got.place == PY_GC_NONE || got.index == 1);
    return got.place == PY_GC_NATIVE;
}

START_TEST(code_around_the_call_tells)
{
    uint32_t offset = py_layout_of(11)->interp.collecting;
    begin(1);
    put_store(PC - 100, offset, 1);
    ck_assert(!found());
    put_store(PC + 20, offset, 0);
    ck_assert(found());
    put_store(PC - 100, offset, 0);
    ck_assert(!found());
    put_store(PC - 100, offset + 4, 1);
    ck_assert(!found());
}
END_TEST

START_TEST(nothing_without_a_collection)
{
    uint32_t offset = py_layout_of(11)->interp.collecting;
    begin(0);
    put_store(PC - MOV_BYTES, offset, 1);
    put_store(PC, offset, 0);
    ck_assert(!found());
    begin(1);
    put_store(PC - MOV_BYTES, offset, 1);
    put_store(PC, offset, 0);
    ck_assert(found());
    rt.module_start = PC + 1; /* somebody else's code */
    ck_assert(!found());
}
END_TEST

START_TEST(later_collectors_begin_with_the_flag)
{
    uint32_t offset = py_layout_of(11)->interp.collecting;
    begin(1);
    rt.layout.traits = *py_traits_of(14);
    ck_assert(!found());
    put_exchange(CODE + 33, offset + 8);
    ck_assert(!found());
    put_exchange(CODE + 33, offset);
    ck_assert(found());
    rt.module_start = PC + 1;
    ck_assert(!found());
}
END_TEST

/* As 3.15 does.  The frame is kept with the recording. */
START_TEST(the_frame_that_was_running_is_noted)
{
    enum { FRAME = BASE + 0x1800 };
    static const uint64_t threads[] = {THREAD};
    struct py_frame frames[] = {{.self = FRAME - 0x100}, {.self = FRAME}};
    struct py_stack py = {.frames = frames, .n = 2, .capacity = 2};
    struct native_stack native = {0};
    begin(1);
    uint32_t at = rt.layout.interp.collecting + 8;
    uint64_t frame = FRAME;
    rt.layout.interp.gc_frame = at;
    memcpy(bytes + (INTERP - BASE) + at, &frame, sizeof frame);
    struct py_gc *gc = py_gc_new(&rt, &arena.mem);
    struct py_gc_found got = py_gc_find(gc, &arena.mem, threads, 1, &native, &py);
    ck_assert_int_eq(got.place, PY_GC_PYTHON);
    ck_assert_uint_eq(got.index, 1);
    py.n = 1; /* it has been left meanwhile */
    ck_assert_int_eq(py_gc_find(gc, &arena.mem, threads, 1, &native, &py).place, PY_GC_NONE);
    py.n = 2;
    arena.len = INTERP - BASE + at; /* nor was it kept */
    ck_assert_int_eq(py_gc_find(gc, &arena.mem, threads, 1, &native, &py).place, PY_GC_NONE);
    py_gc_free(gc);
}
END_TEST

struct noting_mem {
    struct mem mem;
    uint64_t last;
};

static int note_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    ((struct noting_mem *)m)->last = addr;
    return mem_read(&arena.mem, addr, buf, len);
}

START_TEST(the_frame_is_kept_while_it_collects)
{
    static const struct mem_ops ops = {.read = note_read};
    for (uint32_t collecting = 0; collecting <= 1; collecting++) {
        struct noting_mem recording = {.mem.ops = &ops};
        begin(collecting);
        rt.layout.interp.gc_frame = rt.layout.interp.collecting + 8;
        py_gc_record(&rt, &recording.mem, THREAD);
        ck_assert_uint_eq(recording.last, INTERP + rt.layout.interp.collecting + collecting * 8);
    }
}
END_TEST

START_TEST(code_that_cannot_be_read_tells_nothing)
{
    uint32_t offset = py_layout_of(11)->interp.collecting;
    begin(1);
    put_store(PC - 100, offset, 1);
    put_store(PC + 20, offset, 0);
    arena.len = PC + 100 - BASE;
    ck_assert(!found());
    arena.len = ARENA_BYTES;
    ck_assert(found());
}
END_TEST

CHECK_MAIN("py_gc", 20, code_around_the_call_tells, nothing_without_a_collection,
           later_collectors_begin_with_the_flag, the_frame_that_was_running_is_noted,
           the_frame_is_kept_while_it_collects, code_that_cannot_be_read_tells_nothing)
