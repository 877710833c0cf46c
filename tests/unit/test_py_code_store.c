/* Code objects of several processes: what is equal is kept once, what differs is told apart. */
#include "pyframes/py_code_store.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "pyframes/py_code.h"
#include "tests/support/check_main.h"
#include "tests/support/py_stage.h"

static frame_id resolve(struct py_codes *codes, const struct stage *s)
{
    frame_id id;
    bool hidden;
    struct py_stack stack = {.frames = &(struct py_frame){.code = CODE, .lasti = 2}, .n = 1};
    py_codes_check(codes, s->recorded, clock_now_ns(), &stack);
    ck_assert_int_eq(py_code_resolve(codes, s->recorded, stack.frames, &id, &hidden), 0);
    return id;
}

START_TEST(processes_share_what_is_equal)
{
    static struct stage s;
    stage_open(&s, 11);
    struct py_code_store *store = py_code_store_new();
    struct py_codes *a = py_codes_new(&s.rt, &s.mem, s.profile, store);
    struct py_codes *b = py_codes_new(&s.rt, &s.mem, s.profile, store);
    frame_id frame = resolve(a, &s);
    ck_assert_uint_eq(py_code_store_frames(store), 1);
    ck_assert_uint_eq(resolve(b, &s).ix, frame.ix);
    ck_assert_uint_eq(py_code_store_frames(store), 1);
    py_codes_free(a);
    ck_assert_uint_eq(resolve(b, &s).ix, frame.ix);
    ck_assert_uint_eq(py_code_store_frames(store), 1);
    py_codes_free(b);
    ck_assert_uint_eq(py_code_store_frames(store), 0);
    py_code_store_free(store);
    stage_close(&s);
}
END_TEST

/* A forked worker may free a code object and make another in its place. */
START_TEST(another_in_its_place_is_its_own)
{
    static struct stage s;
    static struct stage forked;
    stage_open(&s, 11);
    stage_open(&forked, 11);
    put_ascii(&forked, NAME, "another");
    struct py_code_store *store = py_code_store_new();
    struct py_codes *a = py_codes_new(&s.rt, &s.mem, s.profile, store);
    struct py_codes *b = py_codes_new(&s.rt, &forked.mem, s.profile, store);
    frame_id here = resolve(a, &s);
    frame_id there = resolve(b, &forked);
    ck_assert_uint_ne(here.ix, there.ix);
    const struct func *f =
        profile_get_func(s.profile, profile_get_frame(s.profile, there)->python.func);
    ck_assert_str_eq(profile_text(s.profile, f->name), "another");
    ck_assert_uint_eq(py_code_store_frames(store), 2);
    py_codes_free(b);
    ck_assert_uint_eq(resolve(a, &s).ix, here.ix);
    py_codes_free(a);
    py_code_store_free(store);
    stage_close(&forked);
    stage_close(&s);
}
END_TEST

static struct py_lines *take(struct py_code_store *store, const char *table, int32_t first_line)
{
    struct py_lines wanted = {.func = {1},
                              .kind = PY_LOCATIONS,
                              .first_line = first_line,
                              .table = (uint8_t *)xstrdup(table),
                              .table_len = strlen(table)};
    return py_lines_take(store, &wanted);
}

START_TEST(tables_that_differ_are_told_apart)
{
    struct py_code_store *store = py_code_store_new();
    struct py_lines *one = take(store, "abc", 1);
    struct py_lines *others[] = {take(store, "abd", 1), take(store, "abc", 2),
                                 take(store, "abcd", 1), take(store, "", 1)};
    ck_assert_ptr_eq(take(store, "abc", 1), one);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert_ptr_ne(others[i], one);
        py_lines_keep(others[i], 4, (frame_id){7});
        py_lines_drop(others[i]);
    }
    py_lines_keep(one, 4, (frame_id){7});
    py_lines_drop(one);
    ck_assert_uint_eq(py_code_store_frames(store), 1);
    py_lines_drop(one);
    ck_assert_uint_eq(py_code_store_frames(store), 0);
    py_code_store_free(store);
}
END_TEST

CHECK_MAIN("py_code_store", 20, processes_share_what_is_equal, another_in_its_place_is_its_own,
           tables_that_differ_are_told_apart)
