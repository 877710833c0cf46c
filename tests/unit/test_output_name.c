#include "cli/output_name.h"

#include <errno.h>

#include "tests/support/check_main.h"

static const char environ_text[] =
    "A=1\0RANK=7\0PATH=/a/b\0RANKS=9\0UP=..\0ORDER=\033[2J\xff\n\0EMPTY=";
static const struct output_subject subject = {
    .pid = 1234,
    .comm = "my/prog",
    .host = "node1",
    .time = "20260131-235959",
    .environ = environ_text,
    .environ_len = sizeof environ_text,
};

static const struct {
    const char *pattern, *path; /* path NULL: an error, whose text is in error */
    const char *error;
} cases[] = {
    {"out.json", "out.json", NULL},
    {"%p-%h-%t.json", "1234-node1-20260131-235959.json", NULL},
    {"r%q{RANK}%%.json", "r7%.json", NULL},
    {"%q{PATH}/x", "_a_b/x", NULL},
    {"%q{EMPTY}x", "x", NULL},
    {"%c.json", "my_prog.json", NULL},
    {"%q{NK}", NULL, "%q{NK}: the environment of 1234 has no such variable"},
    {"%q{UP}/%q{UP}%q{UP}x%q{UP}.json", "_./_...x...json", NULL},
    {"%q{ORDER}.json", "_[2J__.json", NULL},
    {"%q{}", NULL, "%q wants a variable's name: %q{RANK}"},
    {"%q{RANK", NULL, "%q wants a variable's name: %q{RANK}"},
    {"%x", NULL, "%x in a file name: %p, %h, %t, %q{NAME} or %%"},
    {"a%", NULL, "% in a file name: %p, %h, %t, %q{NAME} or %%"},
};

START_TEST(patterns_expand)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text t = {0};
        struct err err = {0};
        int r = output_expand(cases[i].pattern, &subject, &t, &err);
        bool lacks = cases[i].error && strstr(cases[i].error, "environment");
        ck_assert_int_eq(r, cases[i].path ? 0 : lacks ? -ENODATA : -EINVAL);
        ck_assert_str_eq(cases[i].path ? t.s : err.text,
                         cases[i].path ? cases[i].path : cases[i].error);
        text_release(&t);
    }
}
END_TEST

START_TEST(environment_may_be_unreadable)
{
    struct output_subject blind = subject;
    blind.environ = NULL;
    struct text t = {0};
    struct err err = {0};
    ck_assert_int_eq(output_expand("%q{A}", &blind, &t, &err), -ENODATA);
    ck_assert_str_eq(err.text, "%q{A}: the environment of 1234 cannot be read");
    text_release(&t);
}
END_TEST

START_TEST(default_and_snap_names)
{
    struct text t = {0};
    output_default_pattern(".json", &t);
    ck_assert(output_is_per_process(t.s));
    struct text path = {0};
    ck_assert_int_eq(output_expand(t.s, &subject, &path, NULL), 0);
    ck_assert_str_eq(path.s, "wallspy-my_prog-1234-20260131-235959.json");
    ck_assert(!output_is_per_process("a%%p%t"));
    ck_assert(output_is_per_process("r%q{RANK}.json"));

    static const char *const snaps[][2] = {{"d.d/out.json.gz", "d.d/out.snap2.json.gz"},
                                           {"out", "out.snap2"},
                                           {"d.d/out", "d.d/out.snap2"},
                                           {"python3.11-7.v2.json", "python3.11-7.v2.snap2.json"},
                                           {"a.gz", "a.snap2.gz"},
                                           {"d/.json", "d/.json.snap2"},
                                           {"./.out.json", "./.out.snap2.json"}};
    for (size_t i = 0; i < sizeof snaps / sizeof *snaps; i++) {
        text_clear(&path);
        output_snap_path(snaps[i][0], 2, &path);
        ck_assert_str_eq(path.s, snaps[i][1]);
    }
    text_release(&path);
    text_release(&t);
}
END_TEST

CHECK_MAIN("output_name", 20, patterns_expand, environment_may_be_unreadable,
           default_and_snap_names)
