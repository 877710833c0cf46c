/* What is known of others' code: the rows built in, and a user's. */
#include "summary/known.h"

#include <string.h>

#include "summary/frame_role.h"
#include "summary/idle.h"
#include "summary/known_used.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct known_table table;
static struct err err;

START_TEST(the_rows_built_in_are_right)
{
    enum { SOME = 300 };
    size_t n_slow = 0;
    ck_assert_int_eq(known_init(&table, NULL, &err), 0);
    ck_assert_uint_gt(table.n, SOME);
    for (size_t i = 0; i < table.n; i++) {
        const struct known_row *row = &table.rows[i];
        ck_assert_msg(row->is || row->within, "%s says nothing", row->function);
        n_slow += row->is >> KNOWN_SLOW & 1;
        ck_assert_msg(!row->slow == !row->remedy || row->allocator, "%s", row->function);
        for (size_t k = 0; k < i; k++)
            ck_assert_msg(row->match != table.rows[k].match ||
                              strcmp(row->function, table.rows[k].function) ||
                              strcmp(row->in, table.rows[k].in),
                          "%s stands twice", row->function);
    }
    ck_assert_uint_le(n_slow, KNOWN_MOST_SLOW / 4 * 3);
    size_t n = 0;
    for (const char *line = known_text(); *line; line += strcspn(line, "\n") + 1)
        n += !strchr("# \n", *line);
    ck_assert_uint_eq(table.n, n); /* reading ends at the first error */
    known_release(&table);
}
END_TEST

START_TEST(a_bad_row_is_told_with_its_line)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"acme_wait", "line 1: no file or module, nor - for any native code: acme_wait"},
        {"# acme\n\nacme_wait -\n  pol", "line 4: unknown word: pol"},
        {"acme_wait - spin=fast", "line 1: unknown value: fast"},
        {"acme_wait - does=block,nothing", "line 1: unknown value: block,nothing"},
        {"acme_wait - loop", "line 1: needs a value: loop"},
        {"acme_wait - answer=yes", "line 1: takes no value: answer"},
        {"acme_wait - pool=\"acme", "line 1: a quote has no end"},
        {"acme_wait - \"acme\"", "line 1: a text without a name: acme"},
        {"  pool", "line 1: no row to go on with: pool"},
        {"acme_wait - slow=a remedy=b least=2", "line 1: no share from 0 to 1: 2"},
        {"\"\" - pool", "line 1: an empty name"},
        {"^ - pool", "line 1: an empty name"},
        {"acme_wait \"\" pool", "line 1: an empty name"},
        {"acme_wait -", "line 1: the row says nothing"},
        {"acme_wait - slow=a", "line 1: slow= and remedy= belong together"},
        {"acme_wait - pool remedy=b", "line 1: slow= and remedy= belong together"},
        {"# acme\nacme_wait - pool least=0.5", "line 2: least= and unless= are for slow="},
        {"acme_wait - loop=", "line 1: needs a value: loop"},
        {"acme::*::wait - pool", "line 1: a * that is neither at the end nor around a part: "
                                 "acme::*::wait"},
        {"*_wait - pool", "line 1: a * that is neither at the end nor around a part: *_wait"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_lt(known_init(&table, cases[i].text, &err), 0);
        ck_assert_str_eq(err.text, cases[i].error);
        ck_assert_uint_gt(table.n, 0); /* those built in */
        known_release(&table);
    }
}
END_TEST

START_TEST(a_row_may_go_on_in_the_next_lines)
{
    ck_assert_int_eq(known_init(&table,
                                "acme_parse acme/slow.py # not the one in C\n"
                                "    slow=\"acme parses\" least=0.5\n"
                                "    remedy=\"acme.fast is \"\n"
                                "        \"in C\"\n",
                                &err),
                     0);
    ck_assert_str_eq(table.rows[0].function, "acme_parse");
    ck_assert_str_eq(table.rows[0].in, "acme/slow.py");
    ck_assert_str_eq(table.rows[0].slow, "acme parses");
    ck_assert_str_eq(table.rows[0].remedy, "acme.fast is in C");
    ck_assert_double_eq_tol(table.rows[0].least_share, 0.5, 1e-9);
    known_release(&table);
}
END_TEST

/* STACK as a view with the user's ROWS shows it. */
static struct shown_stack shown_with(const char *rows, const char *stack)
{
    struct profile_builder b = builder_start(1, "app");
    struct spot at = builder_spot(&b, stack);
    struct view_options options = {.known = rows};
    struct shown_stack s = {.p = b.p, .view = view_new(b.p, &options)};
    s.frames = view_stack(s.view, at, &s.n);
    return s;
}

START_TEST(a_users_rows_come_first)
{
    static const char stack[] = "acme_run!/opt/lib/libacme.so > pthread_cond_wait!libc.so.6 > "
                                "futex [blocked]";
    struct shown_stack s = shown_with(NULL, stack);
    ck_assert_ptr_null(idle_pool_wait(s.frames, s.n));
    ck_assert_int_eq(frame_role(&s.frames[0], true), ROLE_OWN);
    builder_shown_release(&s);
    s = shown_with("acme_run libacme pool=\"acme worker\"", stack);
    ck_assert_ptr_eq(idle_pool_wait(s.frames, s.n), &s.frames[0]);
    ck_assert_str_eq(known_pool_of(&s.frames[0]), "acme worker");
    builder_shown_release(&s);
    s = shown_with("* libacme library", stack);
    ck_assert_int_eq(frame_role(&s.frames[0], true), ROLE_LIBRARY);
    builder_shown_release(&s);
    s = shown_with("acme_run - glue", stack);
    ck_assert_int_eq(frame_role(&s.frames[0], true), ROLE_GLUE);
    builder_shown_release(&s);
    s = shown_with("* libpython own", "f!libpython3.11.so > g!/usr/lib/libgomp.so.1");
    ck_assert_int_eq(frame_role(&s.frames[0], false), ROLE_OWN);
    ck_assert_int_eq(frame_role(&s.frames[1], false), ROLE_LIBRARY);
    builder_shown_release(&s);
    s = shown_with("^acme_ - glue=\"acme thread\"", stack);
    ck_assert_int_eq(frame_role(&s.frames[0], true), ROLE_GLUE);
    ck_assert_str_eq(known_glue_of(&s.frames[0]), "acme thread");
    builder_shown_release(&s);
    s = shown_with("*me_r* - library\n^cme_run - own", stack);
    ck_assert_int_eq(frame_role(&s.frames[0], true), ROLE_LIBRARY);
    builder_shown_release(&s);
    s = shown_with("* libacme waits says=\"The licence server has no free seat.\"", stack);
    ck_assert_int_eq(frame_role(&s.frames[0], true), ROLE_GLUE);
    ck_assert_int_eq(frame_role(&s.frames[0], false), ROLE_LIBRARY);
    ck_assert_str_eq(known_row_of(&s.frames[0], KNOWN_SAYS)->says,
                     "The licence server has no free seat.");
    builder_shown_release(&s);
    s = shown_with("* <made library", "f@<made 1>:1:2 > g@<string>:1:2");
    ck_assert_int_eq(frame_role(&s.frames[0], false), ROLE_LIBRARY);
    ck_assert_int_eq(frame_role(&s.frames[1], false), ROLE_OWN);
    builder_shown_release(&s);
    s = shown_with("gomp_thread_start - pool=mine", "gomp_thread_start!libgomp.so.1 > f!app");
    ck_assert_str_eq(known_pool_of(&s.frames[0]), "mine");
    builder_shown_release(&s);
}
END_TEST

START_TEST(a_row_is_of_a_place)
{
    static const enum frame_role roles[] = {ROLE_LIBRARY, ROLE_OWN, ROLE_LIBRARY, ROLE_LIBRARY,
                                            ROLE_OWN};
    struct shown_stack s =
        shown_with("* acme/ library", "f@/a/acme/run.py:1:2 > f@/a/ouracme/run.py:1:2 > "
                                      "f@acme/run.py:1:2 > g!/opt/acme/lib/app > g!/opt/app");
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        ck_assert_msg(frame_role(&s.frames[i], false) == roles[i], "%zu", i);
    builder_shown_release(&s);
    s = shown_with("^acme$ - library", "acme!app > acme_run!app");
    ck_assert_int_eq(frame_role(&s.frames[0], false), ROLE_LIBRARY);
    ck_assert_int_eq(frame_role(&s.frames[1], false), ROLE_OWN);
    builder_shown_release(&s);
}
END_TEST

START_TEST(what_a_function_does_is_known_by_any_row)
{
    struct shown_stack s =
        shown_with("pthread_mutex_lock libc does=sleep",
                   "T::clone!app > clone!libc.so.6 > "
                   "__GI___pthread_mutex_lock!libc.so.6 > __libc_fork!libc.so.6");
    ck_assert(!known_does(&s.frames[0], DOES_BEGIN));
    ck_assert(known_does(&s.frames[1], DOES_BEGIN));
    for (enum known_act act = 0; act < DOES_KINDS; act++)
        ck_assert_int_eq(known_does(&s.frames[2], act),
                         act == DOES_SLEEP || act == DOES_BLOCK || act == DOES_ASK_AGAIN);
    ck_assert(known_does(&s.frames[3], DOES_FORK));
    builder_shown_release(&s);
}
END_TEST

START_TEST(the_rows_that_apply_are_listed)
{
    enum { WIDTH = 200 };
    struct text text = {0};
    struct shown_stack s = shown_with("acme_run libacme pool\nacme_stop libacme pool",
                                      "main!app > std::call!app > acme_run!/opt/lib/libacme.so > "
                                      "ncclSocketWait!/opt/lib/libnccl.so");
    known_write_used(s.view, WIDTH, &text);
    ck_assert_str_eq(text.s, "  known  acme_run libacme, * libnccl (untested), "
                             "ncclSocketWait - (untested)\n");
    builder_shown_release(&s);
    text_release(&text);
    s = shown_with(NULL, "main!app");
    known_write_used(s.view, WIDTH, &text);
    ck_assert_ptr_null(text.s);
    builder_shown_release(&s);
}
END_TEST

/* In a frozen program (PyInstaller) paths are relative. */
START_TEST(the_standard_library_is_known_in_a_frozen_program)
{
    static const enum frame_role roles[] = {ROLE_OWN, ROLE_LIBRARY, ROLE_OWN, ROLE_GLUE, ROLE_GLUE};
    struct shown_stack s = shown_with(NULL, "<module>@app.py:1:2 > loads@json/__init__.py:1:2 > "
                                            "put@shop/stock.py:1:2 > get@queue.py:1:2 > "
                                            "wait@threading.py:1:2 > futex [blocked]");
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        ck_assert_msg(frame_role(&s.frames[i], true) == roles[i], "%s", s.frames[i].file);
    builder_shown_release(&s);
}
END_TEST

CHECK_MAIN("known", 20, the_rows_built_in_are_right, a_bad_row_is_told_with_its_line,
           a_row_may_go_on_in_the_next_lines, a_users_rows_come_first, a_row_is_of_a_place,
           what_a_function_does_is_known_by_any_row, the_rows_that_apply_are_listed,
           the_standard_library_is_known_in_a_frozen_program)
