#include "pyframes/py_code.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "pyframes/py_layout.h"
#include "tests/support/check_main.h"
#include "tests/support/mem_image.h"
#include "tests/support/py_stage.h"

static void record(struct stage *s, uint64_t addr, size_t len)
{
    ck_assert_int_eq(mem_image_add(s->recorded, addr, s->bytes + (addr - BASE), len), 0);
}

static frame_id resolve(struct stage *s, int32_t lasti, int want)
{
    struct py_frame f = {.code = CODE, .lasti = lasti};
    frame_id id = {0};
    bool hidden = true;
    ck_assert_int_eq(py_code_resolve(s->codes, s->recorded, &f, &id, &hidden), want);
    ck_assert(!hidden);
    ck_assert_uint_ne(id.ix, 0);
    return id;
}

static void check_taken(struct stage *s, int64_t taken_ns)
{
    struct py_frame frames[] = {{.code = CODE}, {.code = CODE}, {.code = 0xdead}};
    py_codes_check(s->codes, s->recorded, taken_ns,
                   &(struct py_stack){.frames = frames, .n = 3, .capacity = 3});
}

static void check(struct stage *s)
{
    check_taken(s, clock_now_ns());
}

static const struct func *func_of(const struct stage *s, frame_id id)
{
    const struct frame *f = profile_get_frame(s->profile, id);
    ck_assert_int_eq(f->kind, FRAME_PYTHON);
    return profile_get_func(s->profile, f->python.func);
}

static const char *name_of(const struct stage *s, frame_id id)
{
    return profile_text(s->profile, func_of(s, id)->name);
}

static bool is_unknown(const struct stage *s, frame_id id)
{
    const struct frame *f = profile_get_frame(s->profile, id);
    return f->kind == FRAME_MARK &&
           !strcmp(profile_text(s->profile, f->mark.name), "[unknown code]");
}

static uint32_t line_of(const struct stage *s, frame_id id)
{
    return profile_get_frame(s->profile, id)->python.line;
}

START_TEST(function_file_and_line)
{
    static struct stage s;
    stage_open(&s, 11);
    frame_id id = resolve(&s, 2, 0);
    ck_assert_str_eq(name_of(&s, id), "Op.run");
    ck_assert_str_eq(profile_text(s.profile, func_of(&s, id)->file), "/src/ops.py");
    ck_assert_uint_eq(func_of(&s, id)->first_line, 10);
    ck_assert_uint_eq(line_of(&s, id), 12);
    ck_assert_uint_eq(line_of(&s, resolve(&s, 0, 0)), 11);
    ck_assert_uint_eq(line_of(&s, resolve(&s, PY_LASTI_NOT_STARTED, 0)), 10);
    ck_assert_uint_eq(line_of(&s, resolve(&s, PY_LASTI_UNKNOWN, 0)), 0);
    stage_close(&s);
}
END_TEST

START_TEST(made_up_code_has_the_line_before)
{
    static struct stage s;
    stage_open(&s, 11);
    put_bytes(&s, TABLE, "\xf8\xd8\x01\x02\xf8", 5); /* no line, line 11, no line */
    ck_assert_uint_eq(line_of(&s, resolve(&s, 0, 0)), 10);
    ck_assert_uint_eq(line_of(&s, resolve(&s, 2, 0)), 11);
    ck_assert_uint_eq(line_of(&s, resolve(&s, 4, 0)), 11);
    stage_close(&s);
}
END_TEST

START_TEST(once_known_nothing_is_read_but_the_key)
{
    static struct stage s;
    stage_open(&s, 12);
    frame_id id = resolve(&s, 2, 0);
    size_t reads = s.reads;
    check(&s);
    ck_assert_uint_eq(s.reads, reads + 1);
    ck_assert_uint_eq(resolve(&s, 2, 0).ix, id.ix);
    ck_assert_uint_eq(s.reads, reads + 1);
    stage_close(&s);
}
END_TEST

START_TEST(a_reused_address_is_noticed)
{
    static struct stage s;
    stage_open(&s, 8);
    ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), "Op.run");
    put_ascii(&s, NAME + 0x200, "other");
    put_u64(&s, CODE + s.rt.layout.code.name, NAME + 0x200);
    ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), "Op.run");
    check(&s);
    ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), "other");
    /* Then it is freed: what is known of it stays. */
    put_u64(&s, CODE + s.rt.layout.object.type, TYPE + 8);
    check(&s);
    ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), "other");
    /* Unless the capture saw that it was none by then. */
    record(&s, CODE, 256);
    check(&s);
    ck_assert(is_unknown(&s, resolve(&s, 0, -ESTALE)));
    stage_close(&s);
}
END_TEST

/* Strings of one shape, exec'd one after the other, differ in little but their lines. */
START_TEST(a_string_in_the_place_of_its_like_is_noticed)
{
    for (uint32_t minor = PY_OLDEST_MINOR; minor <= 12; minor++) {
        static struct stage s;
        stage_open(&s, minor);
        const uint32_t fields[] = {s.rt.layout.code.consts, s.rt.layout.code.names,
                                   s.rt.layout.code.version};
        uint32_t first_line = func_of(&s, resolve(&s, -1, 0))->first_line;
        for (size_t i = 0; i < 3; i++) {
            if (fields[i] == PY_ABSENT)
                continue;
            uint64_t changes = py_codes_changes(s.codes);
            put_u32(&s, CODE + fields[i], 0x4321);
            check(&s);
            ck_assert_uint_gt(py_codes_changes(s.codes), changes);
            ck_assert_uint_eq(func_of(&s, resolve(&s, -1, 0))->first_line, first_line);
        }
        stage_close(&s);
    }
}
END_TEST

START_TEST(stacks_from_before_a_check_need_none)
{
    static struct stage s;
    stage_open(&s, 11);
    int64_t before_ns = clock_now_ns();
    resolve(&s, 0, 0);
    check_taken(&s, before_ns);
    size_t reads = s.reads;
    check_taken(&s, before_ns);
    ck_assert_uint_eq(s.reads, reads);
    check(&s);
    ck_assert_uint_eq(s.reads, reads + 1);
    /* What was recorded counts all the same. */
    put_u64(&s, CODE + s.rt.layout.object.type, TYPE + 8);
    record(&s, CODE, 256);
    check_taken(&s, before_ns);
    ck_assert(is_unknown(&s, resolve(&s, 0, -ESTALE)));
    stage_close(&s);
}
END_TEST

START_TEST(what_is_known_outlives_the_process)
{
    static const int failures[] = {-ESRCH, -EFAULT};
    static struct stage s;
    stage_open(&s, 11);
    resolve(&s, 0, 0);
    for (size_t i = 0; i < 2; i++) {
        s.fail_at = s.reads;
        s.failure = failures[i];
        check(&s);
        ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), "Op.run");
    }
    stage_close(&s);
}
END_TEST

/* What the capture recorded is used, even if the object has changed since. */
START_TEST(a_recorded_object_may_be_gone)
{
    static struct stage s;
    stage_open(&s, 12);
    record(&s, BASE, ARENA_BYTES);
    s.fail_at = 0;
    s.fail_n = SIZE_MAX;
    check(&s);
    ck_assert_uint_eq(line_of(&s, resolve(&s, 2, 0)), 12);
    ck_assert_str_eq(name_of(&s, resolve(&s, 2, 0)), "Op.run");
    ck_assert_uint_eq(s.reads, 0);
    stage_close(&s);
}
END_TEST

/* The key was recorded, its parts were not: they must be the parts of this key. */
START_TEST(recorded_and_live_are_not_mixed)
{
    static struct stage s;
    stage_open(&s, 12);
    record(&s, CODE, 256);
    ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), "Op.run");
    stage_close(&s);
    stage_open(&s, 12);
    record(&s, CODE, 256);
    put_u32(&s, CODE + s.rt.layout.code.first_line, 77);
    ck_assert(is_unknown(&s, resolve(&s, 0, -ESTALE)));
    stage_close(&s);
}
END_TEST

START_TEST(any_read_may_fail)
{
    size_t k = 0;
    for (bool failed = true; failed; k++) {
        static struct stage s;
        stage_open(&s, 11);
        s.fail_at = k;
        struct py_frame f = {.code = CODE};
        frame_id id = {0};
        bool hidden = false;
        int r = py_code_resolve(s.codes, s.recorded, &f, &id, &hidden);
        failed = s.reads > k;
        ck_assert_int_eq(r, failed ? -ESTALE : 0);
        ck_assert(failed == is_unknown(&s, id));
        stage_close(&s);
    }
    ck_assert_uint_ge(k, 8);
}
END_TEST

START_TEST(an_object_that_changes_meanwhile_is_read_again)
{
    for (size_t k = 1; k < 8; k++) {
        static struct stage s;
        stage_open(&s, 11);
        s.change_at = k;
        ck_assert_uint_eq(func_of(&s, resolve(&s, 2, 0))->first_line, 77);
        stage_close(&s);
    }
}
END_TEST

static const uint16_t two[] = {'f', 0xe9, 0x4e2d, 0xdc80, 0};
static const uint32_t four[] = {'g', 0x1f40d, 0x110000};
static const struct {
    const void *data;
    size_t length;
    const char *want;
    unsigned kind;
} strings[] = {
    {"plain", 5, "plain", 0},
    {"caf\xe9", 4, "café", 1},
    {two, 5, "fé中\\udc80\\x00", 2},
    {four, 3, "g🐍\\U00110000", 4},
    {"", 0, "", 0},
};

static void check_name(uint32_t minor, size_t i)
{
    static struct stage s;
    stage_open(&s, minor);
    put_str(&s, NAME, strings[i].kind, strings[i].data, strings[i].length);
    ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), strings[i].want);
    stage_close(&s);
}

START_TEST(strings_of_every_kind)
{
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        check_name(8, i);
        check_name(12, i);
    }
}
END_TEST

/* Faults of the objects. */
enum wrong {
    ENDLESS_NAME,
    NAME_NOT_READY,
    WIDE_ASCII_NAME,
    FILE_OF_NO_KIND,
    ENDLESS_TABLE,
    HUGE_TABLE,
    WRONG_COUNT,
};

static void put_wrong(struct stage *s, enum wrong wrong)
{
    const struct py_layout *l = &s->rt.layout;
    const struct {
        uint64_t at;
        uint64_t value;
    } what[WRONG_COUNT] = {
        [ENDLESS_NAME] = {NAME + l->unicode.length, UINT64_MAX},
        [NAME_NOT_READY] = {NAME + l->unicode.state, 16U << l->unicode.kind_shift},
        [WIDE_ASCII_NAME] = {NAME + l->unicode.state, (2U | 8U | 16U) << l->unicode.kind_shift},
        [FILE_OF_NO_KIND] = {FILE_ + l->unicode.state, (3U | 8U) << l->unicode.kind_shift},
        [ENDLESS_TABLE] = {TABLE + l->bytes.size, UINT64_MAX},
        [HUGE_TABLE] = {TABLE + l->bytes.size, 1U << 30},
    };
    put_u64(s, what[wrong].at, what[wrong].value);
}

START_TEST(hostile_objects)
{
    for (int wrong = 0; wrong < WRONG_COUNT; wrong++) {
        static struct stage s;
        stage_open(&s, 11);
        put_wrong(&s, (enum wrong)wrong);
        ck_assert(is_unknown(&s, resolve(&s, 0, -EPROTO)));
        stage_close(&s);
    }
}
END_TEST

START_TEST(odd_objects)
{
    static struct stage s;
    stage_open(&s, 11);
    put_u64(&s, NAME + s.rt.layout.unicode.length, 5000); /* longer than is taken */
    ck_assert_uint_lt(strlen(name_of(&s, resolve(&s, 0, 0))), (size_t)5 * PATH_MAX);
    put_u32(&s, CODE + s.rt.layout.code.first_line, (uint32_t)-5);
    check(&s);
    ck_assert_uint_eq(func_of(&s, resolve(&s, -1, 0))->first_line, 0);
    stage_close(&s);
}
END_TEST

/* Its characters are elsewhere, at any address. */
START_TEST(a_name_may_be_of_a_subclass)
{
    enum { ELSEWHERE = BASE + 0x7000 };
    static struct stage s;
    stage_open(&s, 11);
    put_u64(&s, NAME + s.rt.layout.unicode.length, 5);
    put_u32(&s, NAME + s.rt.layout.unicode.state, 17U << s.rt.layout.unicode.kind_shift);
    put_u64(&s, NAME + s.rt.layout.unicode.compact_bytes, ELSEWHERE);
    put(&s, ELSEWHERE, "other", 5);
    ck_assert_str_eq(name_of(&s, resolve(&s, 0, 0)), "other");
    stage_close(&s);
    stage_open(&s, 11);
    put_u32(&s, NAME + s.rt.layout.unicode.state, 17U << s.rt.layout.unicode.kind_shift);
    put_u64(&s, NAME + s.rt.layout.unicode.compact_bytes, 8);
    ck_assert(is_unknown(&s, resolve(&s, 0, -ESTALE)));
    stage_close(&s);
}
END_TEST

START_TEST(internal_code_is_hidden)
{
    static const struct {
        unsigned minor;
        const char *name;
        bool hidden;
    } codes[] = {{12, "<shim>", true}, {13, "__init__", true}, {12, "__init__", false}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        static struct stage s;
        stage_open(&s, 12);
        s.rt.layout.traits = *py_traits_of(codes[i].minor);
        put_ascii(&s, NAME, codes[i].name);
        put_ascii(&s, FILE_, codes[i].name);
        struct py_frame f = {.code = CODE};
        frame_id id = {0};
        bool hidden = false;
        ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
        ck_assert_int_eq(hidden, codes[i].hidden);
        stage_close(&s);
    }
}
END_TEST

enum { COPIES = BASE + 0x5000, COPY = BASE + 0x6000, UNITS = 4 };

/* The bytecode has a copy, number 1. */
static void stage_open_with_copy(struct stage *s)
{
    stage_open(s, 12);
    s->rt.layout.code.copies = 0xf0;
    put_u64(s, CODE + s->rt.layout.bytes.size, UNITS);
    put_u64(s, CODE + s->rt.layout.code.copies, COPIES);
    put_u64(s, COPIES, 2);
    put_u64(s, COPIES + 16, COPY);
}

START_TEST(a_thread_may_run_a_copy_of_the_bytecode)
{
    static struct stage s;
    stage_open_with_copy(&s);
    struct py_frame f = {.code = CODE, .lasti = PY_LASTI_UNKNOWN, .instr = COPY + 2, .copy = 1};
    ck_assert_int_eq(py_code_lasti(&s.rt, &s.mem, &f), 2);
    f.instr = COPY + 2 * UNITS; /* behind its end */
    ck_assert_int_eq(py_code_lasti(&s.rt, &s.mem, &f), PY_LASTI_UNKNOWN);
    f.instr = COPY - 2;
    ck_assert_int_eq(py_code_lasti(&s.rt, &s.mem, &f), PY_LASTI_UNKNOWN);
    f.copy = 2; /* there is none */
    ck_assert_int_eq(py_code_lasti(&s.rt, &s.mem, &f), PY_LASTI_UNKNOWN);
    f.copy = 0;
    f.lasti = 6;
    ck_assert_int_eq(py_code_lasti(&s.rt, &s.mem, &f), 6);
    stage_close(&s);
}
END_TEST

START_TEST(a_copy_is_looked_up_once)
{
    enum { MOVED = BASE + 0x7000 };
    static struct stage s;
    stage_open_with_copy(&s);
    struct py_frame f = {.code = CODE, .lasti = PY_LASTI_UNKNOWN, .instr = COPY + 2, .copy = 1};
    frame_id id = {0};
    bool hidden;
    ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
    ck_assert_uint_eq(line_of(&s, id), 12);
    size_t reads = s.reads;
    f.instr = COPY;
    ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
    ck_assert_uint_eq(line_of(&s, id), 11);
    ck_assert_uint_eq(s.reads, reads);
    /* Collected, and another thread with its number made a new one. */
    put_u64(&s, COPIES + 16, MOVED);
    f.instr = MOVED + 2;
    ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
    ck_assert_uint_eq(line_of(&s, id), 12);
    ck_assert_uint_eq(s.reads, reads + 4);
    f.instr = COPY + 2; /* nowhere any more */
    ck_assert_int_eq(py_code_resolve(s.codes, s.recorded, &f, &id, &hidden), 0);
    ck_assert_uint_eq(line_of(&s, id), 0);
    stage_close(&s);
}
END_TEST

START_TEST(instructions_outside_of_the_bytecode)
{
    static struct stage s;
    stage_open(&s, 11);
    put_u64(&s, CODE + s.rt.layout.bytes.size, 2);
    ck_assert_uint_eq(line_of(&s, resolve(&s, 2, 0)), 12);
    uint32_t before = profile_frame_count(s.profile);
    frame_id unknown = resolve(&s, 4, 0);
    ck_assert_uint_eq(line_of(&s, unknown), 0);
    ck_assert_uint_eq(resolve(&s, INT32_MAX, 0).ix, unknown.ix);
    ck_assert_uint_eq(profile_frame_count(s.profile), before + 1);
    stage_close(&s);
}
END_TEST

static bool is_in_threading(struct stage *s, const char *name)
{
    return py_code_is(&s->rt.layout, &s->mem, CODE, name, "/threading.py");
}

START_TEST(code_of_the_library_is_known_in_a_frozen_program)
{
    static struct stage s;
    stage_open(&s, 12);
    put_ascii(&s, NAME, "join");
    ck_assert(!is_in_threading(&s, "join"));
    put_ascii(&s, FILE_, "/usr/lib/python3.12/threading.py");
    ck_assert(is_in_threading(&s, "join"));
    ck_assert(!is_in_threading(&s, "_shutdown"));
    put_ascii(&s, FILE_, "threading.py");
    ck_assert(is_in_threading(&s, "join"));
    put_ascii(&s, FILE_, "my_threading.py");
    ck_assert(!is_in_threading(&s, "join"));
    put_u64(&s, CODE + s.rt.layout.code.filename, 0);
    ck_assert(!is_in_threading(&s, "join"));
    stage_close(&s);
}
END_TEST

CHECK_MAIN("py_code", 20, code_of_the_library_is_known_in_a_frozen_program,
           a_thread_may_run_a_copy_of_the_bytecode, a_copy_is_looked_up_once,
           instructions_outside_of_the_bytecode, function_file_and_line,
           made_up_code_has_the_line_before, once_known_nothing_is_read_but_the_key,
           a_reused_address_is_noticed, a_string_in_the_place_of_its_like_is_noticed,
           stacks_from_before_a_check_need_none, what_is_known_outlives_the_process,
           a_recorded_object_may_be_gone, recorded_and_live_are_not_mixed, any_read_may_fail,
           an_object_that_changes_meanwhile_is_read_again, strings_of_every_kind, hostile_objects,
           odd_objects, a_name_may_be_of_a_subclass, internal_code_is_hidden)
