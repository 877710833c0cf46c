/* The cost of code objects is bounded, whatever a target makes up. */
#include "pyframes/py_code.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "pyframes/py_code_store.h"
#include "pyframes/py_layout.h"
#include "tests/support/check_main.h"
#include "tests/support/py_stage.h"

/* The number of known instructions is bounded: all are forgotten when it is reached. */
START_TEST(instructions_without_end)
{
    enum { MAX_FRAMES = 1 << 18 };
    static struct stage s;
    stage_open(&s, 11);
    put_u64(&s, CODE + s.rt.layout.bytes.size, UINT64_MAX);
    struct py_code_store *store = py_code_store_new();
    struct py_codes *codes = py_codes_new(&s.rt, &s.mem, s.profile, store);
    struct py_stack none = {0};
    for (int32_t i = 0; i < MAX_FRAMES + 10; i++) {
        struct py_frame f = {.code = CODE, .lasti = i};
        frame_id id;
        bool hidden;
        py_codes_check(codes, s.recorded, clock_now_ns(), &none);
        ck_assert_int_eq(py_code_resolve(codes, s.recorded, &f, &id, &hidden), 0);
        ck_assert_int_eq((int32_t)py_code_store_frames(store),
                         i <= MAX_FRAMES ? i + 1 : i - MAX_FRAMES);
        ck_assert_uint_eq(py_codes_changes(codes), 1);
    }
    py_codes_free(codes);
    py_code_store_free(store);
    stage_close(&s);
}
END_TEST

/* A target with any number of code objects, each with the longest line table that is read. */
struct hostile {
    struct mem mem;
    struct stage *stage;
    uint64_t bytes; /* of tables, that were read */
};
enum { CODES = 0x10000000, CODE_STEP = 0x1000, ENDLESS = 0x40000000, ENDLESS_BYTES = 16 << 20 };

static int hostile_read(struct mem *mem, uint64_t addr, void *buf, size_t len)
{
    struct hostile *h = (struct hostile *)mem;
    if (addr >= ENDLESS) {
        uint64_t size = ENDLESS_BYTES;
        memset(buf, 0xf8, len); /* two units of code without a line */
        if (len == sizeof size)
            memcpy(buf, &size, sizeof size);
        else
            h->bytes += len;
        return 0;
    }
    return mem_read(&h->stage->mem, addr >= CODES ? CODE + addr % CODE_STEP : addr, buf, len);
}

static struct py_codes *open_hostile(struct hostile *h, struct stage *s)
{
    static const struct mem_ops ops = {.read = hostile_read};
    stage_open(s, 11);
    put_u64(s, CODE + s->rt.layout.code.linetable, ENDLESS);
    put_u64(s, CODE + s->rt.layout.bytes.size, UINT64_MAX);
    *h = (struct hostile){.mem = {&ops}, .stage = s};
    return py_codes_new(&s->rt, &h->mem, s->profile, NULL);
}

/* Work is bounded for each stack; what it does not suffice for is unknown, and counted. */
START_TEST(line_tables_without_end)
{
    static struct stage s;
    struct hostile h;
    struct py_codes *codes = open_hostile(&h, &s);
    struct py_stack none = {0};
    for (int round = 0; round < 2; round++) {
        int known = 0;
        h.bytes = 0;
        py_codes_check(codes, s.recorded, clock_now_ns(), &none);
        for (uint64_t i = 0; i < 5000; i++) {
            struct py_frame f = {.code = CODES + (i / 2) * CODE_STEP, .lasti = (int32_t)i * 2};
            frame_id id = {0};
            bool hidden;
            int r = py_code_resolve(codes, s.recorded, &f, &id, &hidden);
            ck_assert_uint_ne(id.ix, 0);
            ck_assert(r == 0 || r == -EPROTO);
            known += r == 0;
        }
        ck_assert_int_gt(known, 5);
        ck_assert_int_le(known, 16);
        ck_assert_uint_le(h.bytes, 256 << 20);
    }
    py_codes_free(codes);
    stage_close(&s);
}
END_TEST

/* The same for line tables of code that is known already. */
START_TEST(lines_of_known_code_are_work)
{
    static struct stage s;
    struct hostile h;
    struct py_codes *codes = open_hostile(&h, &s);
    struct py_stack none = {0};
    struct py_frame f = {.code = CODES};
    frame_id id;
    bool hidden;
    py_codes_check(codes, s.recorded, clock_now_ns(), &none);
    int known = 0;
    while (known < 100 && py_code_resolve(codes, s.recorded, &f, &id, &hidden) == 0) {
        f.lasti += 2;
        known++;
    }
    ck_assert_int_gt(known, 5);
    ck_assert_int_le(known, 16);
    ck_assert_uint_ne(id.ix, 0);
    py_codes_check(codes, s.recorded, clock_now_ns(), &none);
    ck_assert_int_eq(py_code_resolve(codes, s.recorded, &f, &id, &hidden), 0);
    py_codes_free(codes);
    stage_close(&s);
}
END_TEST

/* A copy for each thread that ever ran. */
START_TEST(copies_without_end)
{
    enum { COPIES = BASE + 0x5000, MAX_COPIES = 1024, N = 3 * MAX_COPIES, INSTR = 0x900000 };
    static struct stage s;
    stage_open(&s, 12);
    s.rt.layout.code.copies = 0xf0;
    put_u64(&s, CODE + s.rt.layout.bytes.size, 4);
    put_u64(&s, CODE + s.rt.layout.code.copies, COPIES);
    put_u64(&s, COPIES, N);
    struct py_frame f = {.code = CODE, .lasti = PY_LASTI_UNKNOWN, .instr = INSTR + 2};
    frame_id id, first = {0};
    bool hidden;
    for (uint32_t i = 1; i < N; i++) {
        put_u64(&s, COPIES + 8 + i * sizeof(uint64_t), INSTR);
        f.copy = i;
        ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
        first = i == 1 ? id : first;
        ck_assert_uint_eq(id.ix, first.ix);
    }
    size_t reads = s.reads;
    ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
    ck_assert_uint_eq(s.reads, reads); /* the last is known, */
    f.copy = 1;
    ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
    ck_assert_uint_gt(s.reads, reads); /* the first was forgotten */
    f.copy = N;                        /* there is none */
    ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
    ck_assert_uint_ne(id.ix, first.ix);
    stage_close(&s);
}
END_TEST

/* Names are work, too. */
START_TEST(names_without_end)
{
    enum { LONG_NAME = BASE + 0x8000, CHARACTERS = 4096 };
    static const struct mem_ops ops = {.read = hostile_read};
    static struct stage s;
    static uint32_t name[CHARACTERS];
    stage_open(&s, 11);
    for (size_t i = 0; i < CHARACTERS; i++)
        name[i] = 0x1f40d;
    put_str(&s, LONG_NAME, 4, name, CHARACTERS);
    put_u64(&s, CODE + s.rt.layout.code.qualname, LONG_NAME);
    struct hostile h = {.mem = {&ops}, .stage = &s};
    struct py_codes *codes = py_codes_new(&s.rt, &h.mem, s.profile, NULL);
    uint64_t code = CODES;
    for (int round = 0; round < 2; round++) {
        struct py_stack none = {0};
        int known = 0;
        py_codes_check(codes, s.recorded, clock_now_ns(), &none);
        for (int i = 0; i < 5000; i++, code += CODE_STEP) {
            frame_id id;
            bool hidden;
            int r =
                py_code_resolve(codes, s.recorded, &(struct py_frame){.code = code}, &id, &hidden);
            ck_assert(r == 0 || r == -EPROTO);
            known += r == 0;
        }
        ck_assert_int_gt(known, 500);
        ck_assert_int_le(known, 1100);
    }
    py_codes_free(codes);
    stage_close(&s);
}
END_TEST

CHECK_MAIN("py_code_bounds", 20, instructions_without_end, line_tables_without_end,
           lines_of_known_code_are_work, copies_without_end, names_without_end)
