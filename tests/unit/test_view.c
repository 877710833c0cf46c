#include "summary/view.h"

#include <string.h>

#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile_builder b;
static struct view *v;
static struct text joined;

static void setup(void)
{
    b = builder_start(1, "python3");
}

static void teardown(void)
{
    v = view_free(v);
    text_release(&joined);
    profile_free(b.p);
}

/* The names of STACK as shown, outermost first. */
static const char *names(struct spot at, struct view_options options)
{
    view_free(v);
    v = view_new(b.p, &options);
    size_t n = 0;
    const struct shown_frame *f = view_stack(v, at, &n);
    text_clear(&joined);
    text_add(&joined, "");
    for (size_t i = 0; i < n; i++)
        text_addf(&joined, "%s%s", i ? " > " : "", f[i].name);
    return joined.s;
}

static frame_id native(const char *module, uint64_t offset, uint32_t flags)
{
    struct profile_module m = {.path = profile_string(b.p, module), .bias = 0x1000};
    struct frame f = {.kind = FRAME_NATIVE, .flags = flags, .native = {{0}, offset, 0}};
    f.native.module = profile_module(b.p, &m);
    return profile_frame(b.p, &f);
}

START_TEST(inlined_calls_are_expanded)
{
    setup();
    frame_id f = native("/lib/libx.so", 0x40, 0);
    struct location loc[] = {
        {profile_string(b.p, "inner"), profile_string(b.p, "x.h"), 12, 10, true, false},
        {profile_string(b.p, "outer"), profile_string(b.p, "x.c"), 34, 30, false, false},
    };
    profile_locate(b.p, f, loc, 2);
    struct spot s = spot_of_stack(profile_push(b.p, (stack_id){0}, f));
    ck_assert_str_eq(names(s, (struct view_options){0}), "outer > inner");
    size_t n = 0;
    const struct shown_frame *shown = view_stack(v, s, &n);
    ck_assert(shown[1].inlined && !shown[0].inlined);
    ck_assert_str_eq(shown[0].file, "[libx.so] x.c");
    ck_assert_str_eq(shown[0].module, "libx.so");
    ck_assert_uint_eq(shown[0].line, 30);
    ck_assert_uint_eq(shown[0].current_line, 34);
    ck_assert_uint_eq(shown[0].address, 0x1040);
    names(s, (struct view_options){.lines = true});
    ck_assert_uint_eq(view_stack(v, s, &n)[0].line, 34);
    teardown();
}
END_TEST

START_TEST(one_of_two_equal_marks_is_shown)
{
    setup();
    frame_id hidden = native("/lib/libpython.so", 0x40, FRAME_IS_INTERPRETER);
    frame_id lost = profile_mark(b.p, "[Python frames missing]", NULL);
    profile_locate(b.p, hidden,
                   &(struct location){profile_string(b.p, "vectorcall"), {0}, 0, 0, false, true},
                   1);
    struct spot s = builder_spot(&b, "f@/a.py:7:9");
    for (int i = 0; i < 3; i++)
        s.stack = profile_push(b.p, profile_push(b.p, s.stack, lost), hidden);
    ck_assert_str_eq(names(s, (struct view_options){0}), "f > [Python frames missing]");
    ck_assert_str_eq(names(s, (struct view_options){.internals = true}),
                     "f > [Python frames missing] > vectorcall > [Python frames missing] > "
                     "vectorcall > [Python frames missing] > vectorcall");
    teardown();
}
END_TEST

START_TEST(one_function_is_one_id_unless_lines_are_asked)
{
    setup();
    struct spot nine = builder_spot(&b, "f@/a.py:7:9");
    struct spot ten = builder_spot(&b, "f@/a.py:7:10");
    size_t n = 0;
    names(nine, (struct view_options){0});
    uint32_t id = view_stack(v, nine, &n)->id;
    ck_assert_uint_eq(view_stack(v, ten, &n)->id, id);
    ck_assert_uint_eq(view_stack(v, ten, &n)->current_line, 10);
    ck_assert_uint_eq(view_frame_count(v), 1);
    ck_assert_str_eq(view_frame(v, id)->file, "/a.py");
    ck_assert_uint_eq(view_frame(v, id)->line, 7);
    names(nine, (struct view_options){.lines = true});
    ck_assert_uint_eq(view_frame_count(v), 2);
    ck_assert_uint_eq(view_stack(v, ten, &n)->line, 10);
    teardown();
}
END_TEST

START_TEST(internal_functions_are_hidden)
{
    setup();
    frame_id f = native("python3", 0x40, FRAME_IS_INTERPRETER);
    struct location loc = {.function = profile_string(b.p, "_PyEval_Vector"), .internal = true};
    profile_locate(b.p, f, &loc, 1);
    struct spot s = builder_spot(&b, "f@/a.py:1:2");
    s.stack = profile_push(b.p, s.stack, f);
    s.stack = profile_push(b.p, s.stack, profile_mark(b.p, "[x]", NULL));
    ck_assert_str_eq(names(s, (struct view_options){0}), "f > [x]");
    ck_assert_str_eq(names(s, (struct view_options){.internals = true}),
                     "f > _PyEval_Vector > [x]");
    teardown();
}
END_TEST

/* The mark would be hidden with it. */
START_TEST(guessed_internal_functions_are_shown)
{
    setup();
    frame_id named = native("python3", 0x40, FRAME_IS_INTERPRETER | FRAME_IS_GUESSED);
    frame_id nameless = native("python3", 0x50, FRAME_IS_INTERPRETER | FRAME_IS_GUESSED);
    struct location loc = {.function = profile_string(b.p, "_PyEval_Vector"), .internal = true};
    profile_locate(b.p, named, &loc, 1);
    struct spot s = builder_spot(&b, "f@/a.py:1:2");
    s.stack = profile_push(b.p, s.stack, named);
    s.stack = profile_push(b.p, s.stack, nameless);
    s.stack = profile_push(b.p, s.stack, profile_mark(b.p, "[x]", NULL));
    ck_assert_str_eq(names(s, (struct view_options){0}), "f > _PyEval_Vector > python3+0x50 > [x]");
    teardown();
}
END_TEST

START_TEST(nameless_code_is_an_offset)
{
    setup();
    frame_id code = native("/lib/libx.so", 0x40, 0);
    struct frame jit = {.kind = FRAME_NATIVE, .native = {{0}, 0x7f00}};
    struct spot s = spot_of_stack(profile_push(b.p, (stack_id){0}, code));
    s.stack = profile_push(b.p, s.stack, profile_frame(b.p, &jit));
    s.stack = profile_push(b.p, s.stack, native("[vdso]", 0x40, 0));
    ck_assert_str_eq(names(s, (struct view_options){0}), "libx.so+0x40 > 0x7f00 > [vdso]+0x40");
    size_t n = 0;
    const struct shown_frame *shown = view_stack(v, s, &n);
    ck_assert_str_eq(shown[0].file, "[libx.so]");
    ck_assert_str_eq(shown[1].file, "[anonymous]");
    ck_assert(shown[0].nameless && shown[1].nameless);
    ck_assert_ptr_null(shown[1].module);
    ck_assert_str_eq(shown[2].file, "[vdso]");
    ck_assert_uint_eq(shown[1].address, 0x7f00);
    teardown();
}
END_TEST

START_TEST(nameless_function_is_one_frame)
{
    setup();
    stack_id stacks[2];
    for (uint64_t i = 0; i < 2; i++) {
        struct frame f = {.kind = FRAME_NATIVE};
        f.native.module = profile_module(
            b.p, &(struct profile_module){.path = profile_string(b.p, "/lib/libx.so")});
        f.native.offset = 0x123 + i;
        f.native.function = 0x100;
        stacks[i] = profile_push(b.p, (stack_id){0}, profile_frame(b.p, &f));
    }
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(names(spot_of_stack(stacks[i]), (struct view_options){0}),
                         "libx.so+0x100");
    ck_assert_str_eq(names(spot_of_stack(stacks[1]), (struct view_options){.lines = true}),
                     "libx.so+0x124");
    teardown();
}
END_TEST

START_TEST(nameless_interpreter_code_shows_as_innermost_only)
{
    setup();
    frame_id code = native("python3", 0x40, FRAME_IS_INTERPRETER);
    struct spot s = spot_of_stack(profile_push(b.p, (stack_id){0}, code));
    s.stack = profile_push(b.p, s.stack, code);
    ck_assert_str_eq(names(s, (struct view_options){0}), "python3+0x40");
    ck_assert_str_eq(names(s, (struct view_options){.internals = true}),
                     "python3+0x40 > python3+0x40");
    teardown();
}
END_TEST

/* ---- programs that the interpreter is linked into ---- */

/* STACK with a frame of such a program; NAME NULL: it has none. */
static stack_id embedding(stack_id stack, const char *name, bool internal)
{
    static uint64_t offset = 0x40;
    frame_id f = native("/opt/app", offset += 0x10, FRAME_IS_EMBEDDING);
    struct location loc = {.internal = internal};
    if (name)
        loc.function = profile_string(b.p, name);
    if (name)
        profile_locate(b.p, f, &loc, 1);
    return profile_push(b.p, stack, f);
}

static stack_id python(stack_id stack, const char *name)
{
    struct func func = {.name = profile_string(b.p, name)};
    struct frame f = {.kind = FRAME_PYTHON};
    f.python.func = profile_func(b.p, &func);
    return profile_push(b.p, stack, profile_frame(b.p, &f));
}

START_TEST(an_embedding_program_keeps_its_functions)
{
    setup();
    stack_id s = embedding((stack_id){0}, "main", false);
    s = embedding(s, "run_file", false);
    s = embedding(s, NULL, false);
    s = embedding(s, "_PyObject_Call", true);
    s = python(s, "f");
    ck_assert_str_eq(names(spot_of_stack(s), (struct view_options){0}),
                     "main > run_file > app+0x70 > f");
    s = embedding(s, NULL, false);
    s = embedding(s, "work", false);
    ck_assert_str_eq(names(spot_of_stack(s), (struct view_options){0}),
                     "main > run_file > app+0x70 > f > app+0x90 > work");
    teardown();
}
END_TEST

START_TEST(what_passes_a_call_on_in_an_embedding_program_is_hidden)
{
    setup();
    stack_id s = python((stack_id){0}, "f");
    s = embedding(s, NULL, false);
    s = embedding(s, "_PyEval_Vector", true);
    s = embedding(s, NULL, false);
    s = python(s, "g");
    ck_assert_str_eq(names(spot_of_stack(s), (struct view_options){0}), "f > g");
    s = embedding(s, "cfunction_call", true);
    s = embedding(s, "wrap_work", false);
    s = embedding(s, "_PyObject_Call", true);
    s = python(s, "h");
    ck_assert_str_eq(names(spot_of_stack(s), (struct view_options){0}), "f > g > wrap_work > h");
    s = embedding(s, "PyDict_GetItem", false);
    size_t n = 0;
    (void)names(spot_of_stack(s), (struct view_options){0});
    const struct shown_frame *shown = view_stack(v, spot_of_stack(s), &n);
    ck_assert_uint_eq(n, 5);
    ck_assert(shown[4].interpreter && shown[4].glue);
    ck_assert(!shown[2].interpreter && !shown[2].glue);
    teardown();
}
END_TEST

START_TEST(languages_can_be_hidden)
{
    setup();
    struct spot s = builder_spot(&b, "run!libx.so > f@/a.py:1:2 > read!libc.so.6 > read [blocked]");
    ck_assert_str_eq(names(s, (struct view_options){.no_native = true}), "f > read [blocked]");
    ck_assert_str_eq(names(s, (struct view_options){.no_python = true}),
                     "run > read > read [blocked]");
    ck_assert_str_eq(names(s, (struct view_options){.no_python = true, .no_native = true}),
                     "read [blocked]");
    struct spot native_only = builder_spot(&b, "run!libx.so");
    ck_assert_str_eq(names(native_only, (struct view_options){.no_native = true}), "[not shown]");
    teardown();
}
END_TEST

START_TEST(guessed_frames_say_so)
{
    setup();
    frame_id f = native("libx.so", 0x40, FRAME_IS_GUESSED);
    struct location loc = {.function = profile_string(b.p, "run")};
    profile_locate(b.p, f, &loc, 1);
    frame_id sure = native("libx.so", 0x40, 0);
    profile_locate(b.p, sure, &loc, 1);
    struct spot s = spot_of_stack(profile_push(b.p, profile_push(b.p, (stack_id){0}, sure), f));
    ck_assert_str_eq(names(s, (struct view_options){0}), "run > run");
    ck_assert_uint_eq(view_frame_count(v), 2);
    size_t n = 0;
    const struct shown_frame *stack = view_stack(v, s, &n);
    ck_assert_str_eq(stack[0].file, "[libx.so]");
    ck_assert_str_eq(stack[1].file, "[guessed] [libx.so]");
    teardown();
}
END_TEST

START_TEST(entry_frames_and_aliases_are_hidden)
{
    static const struct {
        const char *stack, *shown;
    } cases[] = {
        {"_start!app > __libc_start_main!libc.so.6 > __libc_start_call_main!libc.so.6 > main!app",
         "main"},
        {"clone3!libc.so.6 > start_thread!libc.so.6 > f!app", "f"},
        {"_start!app > __libc_start_main_impl!app > main!app", "main"}, /* linked statically */
        {"clone3!libc.so.6 > start_thread!libc.so.6", "start_thread"},
        {"clone3!libc.so.6 > futex [blocked]", "futex [blocked]"},
        {"main!app > f!app > clone3!libc.so.6", "main > f > clone3"}, /* starts a thread */
        {"f!app > read!libc.so.6 > __GI___libc_read!libc.so.6 > read pipe [blocked]",
         "f > read > read pipe [blocked]"},
        {"f!app > pthread_cond_wait!libc.so.6 > __pthread_cond_wait_common!libc.so.6 > "
         "__futex_abstimed_wait_common!libc.so.6 > __futex_abstimed_wait_common64!libc.so.6",
         "f > pthread_cond_wait > __futex_abstimed_wait_common"},
        {"f!app > malloc!libc.so.6 > _int_malloc!libc.so.6", "f > malloc > _int_malloc"},
        {"f!app > read!app > __read!libc.so.6", "f > read > __read"}, /* the user's own */
        {"qsort_r!libc.so.6 > msort!libc.so.6 > msort!libc.so.6", "qsort_r > msort > msort"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        struct spot s = builder_spot(&b, cases[i].stack);
        ck_assert_str_eq(names(s, (struct view_options){0}), cases[i].shown);
        size_t n = 0;
        names(s, (struct view_options){.whole = true});
        (void)view_stack(v, s, &n);
        ck_assert_uint_eq(n, profile_stack_depth(b.p, s.stack) + (s.wait.ix ? 1 : 0));
        teardown();
    }
}
END_TEST

START_TEST(no_stack_has_no_frames)
{
    setup();
    ck_assert_str_eq(names(spot_of_stack((stack_id){0}), (struct view_options){.no_native = true}),
                     "");
    teardown();
}
END_TEST

/* The mount first, so that a viewer adds up what waits for it. */
START_TEST(path_below_a_mount_follows_it)
{
    setup();
    struct profile_mount mount = {.point = profile_string(b.p, "/mnt/data")};
    struct wait wait = {.kind = WAIT_CALL,
                        .call = profile_string(b.p, "read"),
                        .object = profile_string(b.p, "/mnt/data/a/b"),
                        .mount = profile_mount(b.p, &mount)};
    struct spot s = {builder_stack(&b, "run!libx.so"), profile_wait(b.p, &wait)};
    ck_assert_str_eq(names(s, (struct view_options){0}),
                     "run > read /mnt/data [blocked] > /mnt/data/a/b");
    mount.point = profile_string(b.p, "/");
    wait.mount = profile_mount(b.p, &mount);
    s.wait = profile_wait(b.p, &wait);
    ck_assert_str_eq(names(s, (struct view_options){0}), "run > read /mnt/data/a/b [blocked]");
    teardown();
}
END_TEST

CHECK_MAIN("view", 20, inlined_calls_are_expanded, one_of_two_equal_marks_is_shown,
           one_function_is_one_id_unless_lines_are_asked, internal_functions_are_hidden,
           guessed_internal_functions_are_shown, nameless_function_is_one_frame,
           nameless_code_is_an_offset, nameless_interpreter_code_shows_as_innermost_only,
           an_embedding_program_keeps_its_functions,
           what_passes_a_call_on_in_an_embedding_program_is_hidden, languages_can_be_hidden,
           guessed_frames_say_so, entry_frames_and_aliases_are_hidden,
           path_below_a_mount_follows_it, no_stack_has_no_frames)
