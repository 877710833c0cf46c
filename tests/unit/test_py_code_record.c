#include "pyframes/py_code_record.h"

#include <string.h>

#include "tests/support/check_main.h"
#include "tests/support/mem_image.h"
#include "tests/support/py_stage.h"

enum { COPIES = BASE + 0x8000, CODE_BYTES = 0x100 };

/* A memory that keeps what is read through it in the stage's RECORDED. */
struct recording {
    struct mem mem;
    struct stage *stage;
};

static int recording_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct stage *s = ((struct recording *)m)->stage;
    int r = mem_read(&s->mem, addr, buf, len);
    return r < 0 ? r : mem_image_add(s->recorded, addr, buf, len);
}

/* Frames that run code objects, copies of the stage's, which share its names. */
struct capture {
    struct py_frame frames[100];
    struct py_stack stack;
    struct py_code_record *keep;
};

static void capture_open(struct capture *c, struct stage *s, size_t n)
{
    memset(c, 0, sizeof *c);
    c->stack = (struct py_stack){.frames = c->frames, .n = n, .capacity = 100};
    for (size_t i = 0; i < n; i++) {
        c->frames[i].code = i ? COPIES + i * CODE_BYTES : CODE;
        put(s, c->frames[i].code, s->bytes + (CODE - BASE), CODE_BYTES);
    }
    static uint8_t scratch[PY_CODE_RECORD_SCRATCH_BYTES];
    c->keep = py_code_record_new(&s->rt, scratch);
}

/* Returns how many reads were made.  Forgets what was recorded before. */
static size_t capture(struct capture *c, struct stage *s)
{
    static const struct mem_ops ops = {.read = recording_read};
    struct recording recording = {.mem = {&ops}, .stage = s};
    size_t reads = s->reads;
    mem_free(s->recorded);
    s->recorded = mem_image_new();
    py_code_record_tick(c->keep);
    py_code_record_stack(c->keep, &recording.mem, &c->stack);
    return s->reads - reads;
}

/* How many of the code objects can be named when the target is gone? */
static size_t named(struct capture *c, struct stage *s)
{
    struct py_codes *codes = py_codes_new(&s->rt, s->recorded, s->profile, NULL);
    size_t n = 0;
    for (size_t i = 0; i < c->stack.n; i++) {
        frame_id id;
        bool hidden;
        n += py_code_resolve(codes, s->recorded, &c->frames[i], &id, &hidden) == 0;
    }
    py_codes_free(codes);
    return n;
}

START_TEST(new_objects_are_recorded_whole)
{
    static struct stage s;
    static struct capture c;
    for (uint32_t minor = 6; minor <= 12; minor++) {
        stage_open(&s, minor);
        capture_open(&c, &s, 100);
        /* A part at a time, and some again until there is room for all. */
        ck_assert_uint_gt(capture(&c, &s), 0);
        ck_assert_uint_eq(named(&c, &s), 64);
        for (int i = 0; i < 4; i++)
            capture(&c, &s);
        size_t reads = capture(&c, &s);
        ck_assert_uint_eq(reads, 100); /* keys, no names */
        py_code_record_free(c.keep);
        stage_close(&s);
    }
}
END_TEST

START_TEST(old_objects_are_looked_at_ever_less_often)
{
    static struct stage s;
    static struct capture c;
    stage_open(&s, 12);
    capture_open(&c, &s, 1);
    ck_assert_uint_gt(capture(&c, &s), 1);
    for (int i = 1; i < 16; i++)
        ck_assert_uint_eq(capture(&c, &s), 1);
    size_t reads = 0;
    for (int i = 0; i < 10000; i++)
        reads += capture(&c, &s);
    ck_assert_uint_lt(reads, 400);
    ck_assert_uint_gt(reads, 200);
    py_code_record_free(c.keep);
    stage_close(&s);
}
END_TEST

/* After one object has taken another's place, every capture reads all keys for a while. */
START_TEST(after_a_change_each_capture_looks)
{
    static struct stage s;
    static struct capture c;
    size_t reads = 0;
    stage_open(&s, 12);
    capture_open(&c, &s, 40);
    for (int i = 0; i < 10000; i++)
        capture(&c, &s);
    put_u32(&s, CODE + s.rt.layout.code.first_line, 77);
    for (int i = 0; i < 40; i++)
        capture(&c, &s);
    for (int i = 0; i < 900; i++)
        ck_assert_uint_eq(capture(&c, &s), 40);
    for (int i = 0; i < 200; i++)
        capture(&c, &s);
    for (int i = 0; i < 100; i++)
        reads += capture(&c, &s);
    ck_assert_uint_lt(reads, 200);
    py_code_record_free(c.keep);
    stage_close(&s);
}
END_TEST

START_TEST(what_changed_or_was_lost_is_recorded_again)
{
    static struct stage s;
    static struct capture c;
    stage_open(&s, 12);
    capture_open(&c, &s, 1);
    capture(&c, &s);
    ck_assert_uint_eq(named(&c, &s), 1);
    capture(&c, &s);
    ck_assert_uint_eq(named(&c, &s), 0);
    put_u32(&s, CODE + s.rt.layout.code.first_line, 77);
    capture(&c, &s);
    ck_assert_uint_eq(named(&c, &s), 1);
    py_code_record_undo(c.keep, &c.stack);
    capture(&c, &s);
    ck_assert_uint_eq(named(&c, &s), 1);
    capture(&c, &s);
    py_code_record_undo(c.keep, &c.stack);
    capture(&c, &s);
    ck_assert_uint_eq(named(&c, &s), 0);
    py_code_record_free(c.keep);
    stage_close(&s);
}
END_TEST

START_TEST(hostile_objects_cost_little)
{
    static struct stage s;
    static struct capture c;
    const uint64_t lengths[] = {1U << 20, 1U << 30, UINT64_MAX / 2, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        stage_open(&s, 12);
        put_u64(&s, NAME + s.rt.layout.unicode.length, lengths[i]);
        put_u64(&s, FILE_ + s.rt.layout.unicode.length, lengths[i]);
        put_u64(&s, TABLE + s.rt.layout.bytes.size, lengths[i]);
        capture_open(&c, &s, 1);
        ck_assert_uint_lt(capture(&c, &s), 16);
        ck_assert_uint_eq(named(&c, &s), 0);
        py_code_record_free(c.keep);
        stage_close(&s);
    }
}
END_TEST

START_TEST(every_read_may_fail)
{
    static struct stage s;
    static struct capture c;
    stage_open(&s, 12);
    for (size_t k = 0;; k++) {
        capture_open(&c, &s, 1);
        s.fail_at = s.reads + k;
        size_t reads = capture(&c, &s);
        py_code_record_free(c.keep);
        if (reads <= k)
            break;
        ck_assert_uint_eq(named(&c, &s), 0);
    }
    ck_assert_uint_eq(named(&c, &s), 1);
    stage_close(&s);
}
END_TEST

CHECK_MAIN("py_code_record", 20, new_objects_are_recorded_whole,
           old_objects_are_looked_at_ever_less_often, after_a_change_each_capture_looks,
           what_changed_or_was_lost_is_recorded_again, hostile_objects_cost_little,
           every_read_may_fail)
