/* Whatever others call their processes, threads, functions, files, locks and peers: no output has
 * other lines, fields or frames for it (tests/fuzz/fuzz_hostile_names.c tries many more). */
#include <string.h>

#include "summary/process_name.h"
#include "tests/support/check_main.h"
#include "tests/support/hostile_check.h"
#include "tests/support/profile_builder.h"
#include "worker/recording_metadata.h"

static const char *const tricks[] = {
    /* The marks of our own texts. */
    "a,b",
    ", which has ended",
    "a;b;c",
    "a > b",
    " > ",
    "x 77",
    "77",
    "7 (sh), 8 (cat)",
    "2 processes: 7 (sh)",
    ") R 1 (",
    "a)b",
    "[x",
    "] ",
    "a=b",
    "a: b",
    "- -",
    /* Our own words. */
    "[waiting for cpu]",
    "[truncated]",
    "[guessed] a",
    "[off-cpu]",
    "main waits 99%",
    "3 ended: x",
    "4 x y",
    "rank7 main",
    "idle: 3 x pool",
    "listening on ",
    "connections to ",
    "read pipe [blocked]",
    /* The marks of files and of terminals. */
    "a\nb 1\n",
    "\r",
    "\ta",
    "\"",
    "\\",
    "\\\"},{\"",
    "<script>alert(1)</script>",
    "</title></g></svg>",
    "]]>",
    "&amp",
    "\x1b[31m",
    "\x1b]0;a\a",
    "\x7f\b",
    "\xc2\x9b",
    "\xe2\x80\xae"
    "abc",
    "\xff\xfe",
    "\xed\xa0\x80",
    "\xe2\x82",
    "\xef\xbf\xbf",
    "%s%n",
    "",
    " ",
};
enum { TRICKS = sizeof tricks / sizeof *tricks };

/* Everything is called so, with letters before it. */
START_TEST(a_name_is_no_structure)
{
    for (size_t i = 0; i < TRICKS; i++)
        hostile_check(&tricks[i], 1, true, true);
}
END_TEST

/* Everything is called so, without them: equal names are one thing in some places. */
START_TEST(a_bare_name_breaks_nothing)
{
    for (size_t i = 0; i < TRICKS; i++)
        hostile_check(&tricks[i], 1, false, false);
}
END_TEST

/* All of them at a time, each in another place at each turn. */
START_TEST(names_are_mixed)
{
    for (size_t turn = 0; turn < TRICKS; turn += 5) {
        const char *turned[TRICKS];
        for (size_t i = 0; i < TRICKS; i++)
            turned[i] = tricks[(i + turn) % TRICKS];
        hostile_check(turned, TRICKS, true, true);
        hostile_check(turned, TRICKS, false, false);
    }
}
END_TEST

START_TEST(a_value_is_no_other_variable)
{
    struct profile_builder b = builder_start(1, "app");
    struct text environment = {0};
    size_t len = 0;
    metadata_add_variable(&environment, "OMP_PLACES=x RANK=9\nRANK=8\\");
    metadata_add_variable(&environment, "RANK=3");
    ck_assert_str_eq(environment.s, "OMP_PLACES=x\\x20RANK=9\\x0aRANK=8\\x5c RANK=3");
    builder_process(&b, 2, "app", environment.s);
    const char *rank = process_rank(b.p, b.process, &len);
    ck_assert_uint_eq(len, 1);
    ck_assert_int_eq(*rank, '3');
    text_release(&environment);
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("hostile_names", 60, a_name_is_no_structure, a_bare_name_breaks_nothing, names_are_mixed,
           a_value_is_no_other_variable)
