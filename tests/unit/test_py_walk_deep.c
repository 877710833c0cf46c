/* One activation has more frames than a capture can record. */
#include <errno.h>
#include <string.h>

#include "pyframes/py_layout.h"
#include "pyframes/py_walk.h"
#include "tests/support/check_main.h"

enum {
    THREAD = 0x100000,
    CFRAME = 0x200000,
    FRAMES = 0x300000,
    FRAME_BYTES = 0x100,
    CODE = 0x900000,
    CAPACITY = 1024,
};

struct fake {
    struct mem mem;
    struct py_runtime rt;
    size_t recorded; /* frames */
    bool callers;    /* on the C stack above CFRAME every second word leads to them */
    size_t reads;
};

static uint64_t word_at(const struct fake *f, uint64_t addr)
{
    const struct py_layout *l = &f->rt.layout;
    if (addr == THREAD + l->thread.cframe)
        return CFRAME;
    if (f->callers && addr > CFRAME + l->cframe.previous)
        return (addr - l->cframe.current_frame) % 16 == 8 ? FRAMES : THREAD + l->thread.root_cframe;
    if (addr == CFRAME + l->cframe.current_frame)
        return FRAMES;
    return addr == CFRAME + l->cframe.previous ? THREAD + l->thread.root_cframe : 0;
}

/* A chain of frames, as far as it was recorded. */
static int fake_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct fake *f = (struct fake *)m;
    uint64_t value = addr < FRAMES ? word_at(f, addr) : addr + FRAME_BYTES;
    uint64_t code = CODE;
    f->reads++;
    memset(buf, 0, len);
    if (len <= sizeof value) {
        memcpy(buf, &value, len);
        return 0;
    }
    if (addr < FRAMES || addr >= FRAMES + f->recorded * FRAME_BYTES)
        return -ENOMEM;
    memcpy((uint8_t *)buf + f->rt.layout.frame.previous, &value, sizeof value);
    memcpy((uint8_t *)buf + f->rt.layout.frame.code, &code, sizeof code);
    return 0;
}

static size_t frames_of(uint32_t minor, size_t recorded, enum py_walk_end *ret_end)
{
    static const struct mem_ops ops = {.read = fake_read};
    static struct py_frame frames[CAPACITY];
    static const uint64_t thread[] = {THREAD};
    struct fake f = {.mem = {.ops = &ops}, .recorded = recorded};
    struct py_stack out = {.frames = frames, .capacity = CAPACITY};
    f.rt.layout = *py_layout_of(minor);
    (void)py_walk(&f.rt, &f.mem, thread, 1, &out);
    *ret_end = out.end;
    for (size_t i = 0; i < out.n; i++)
        ck_assert(!frames[i].entry && frames[i].self == FRAMES + i * FRAME_BYTES);
    return out.n;
}

START_TEST(what_was_recorded_is_kept)
{
    for (uint32_t minor = 11; minor <= 12; minor++) {
        enum py_walk_end end;
        ck_assert_uint_eq(frames_of(minor, 700, &end), 700);
        ck_assert_int_eq(end, PY_WALK_BAD_MEMORY);
    }
}
END_TEST

START_TEST(a_short_chain_may_be_stale)
{
    for (uint32_t minor = 11; minor <= 12; minor++) {
        enum py_walk_end end;
        ck_assert_uint_eq(frames_of(minor, 100, &end), 0);
    }
}
END_TEST

/* The thread is held meanwhile. */
START_TEST(the_search_for_callers_reads_little)
{
    static const struct mem_ops ops = {.read = fake_read};
    static struct py_frame frames[PY_MAX_FRAMES];
    for (uint32_t minor = 11; minor <= 12; minor++) {
        struct fake f = {.mem = {.ops = &ops}, .recorded = PY_MAX_FRAMES / 2, .callers = true};
        struct py_stack scratch = {.frames = frames, .capacity = PY_MAX_FRAMES};
        f.rt.layout = *py_layout_of(minor);
        py_walk_record_callers(&f.rt, &f.mem, THREAD, &scratch);
        ck_assert_uint_gt(f.reads, 1000);
        ck_assert_uint_lt(f.reads, 3000);
    }
}
END_TEST

CHECK_MAIN("py_walk_deep", 20, what_was_recorded_is_kept, a_short_chain_may_be_stale,
           the_search_for_callers_reads_little)
