#include "cli/ctl_request.h"

#include <string.h>

#include "base/text.h"
#include "tests/support/check_main.h"

static char line[CTL_LINE_BYTES];
static struct ctl_request request;

static const char *parse(const char *text)
{
    (void)snprintf(line, sizeof line, "%s", text);
    return ctl_request_parse(&request, line, strlen(line));
}

START_TEST(each_word_asks_for_its_own)
{
    for (enum ctl_verb verb = 0; verb < CTL_VERBS; verb++) {
        if (verb == CTL_MARK)
            continue;
        ck_assert_ptr_null(parse(ctl_word(verb)));
        ck_assert_int_eq(request.verb, verb);
        ck_assert(!request.json);
    }
    ck_assert_ptr_null(parse("status --json\r"));
    ck_assert(request.verb == CTL_STATUS && request.json);
}
END_TEST

START_TEST(what_is_no_request_is_refused)
{
    static const char *const wrongs[] = {"",        " ",       "stat",        "statusx", "Status",
                                         "stop it", "pause 1", "status json", "\x1b",    " stop",
                                         "mark",    "mark ",   "stop --json"};
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        ck_assert_msg(parse(wrongs[i]) != NULL, "%s", wrongs[i]);
    char nul[] = "stop\0x";
    ck_assert_ptr_nonnull(ctl_request_parse(&request, nul, sizeof nul - 1));
}
END_TEST

START_TEST(a_mark_is_short_and_clean)
{
    struct text most = {0};
    text_add(&most, "mark ");
    for (int i = 0; i < 100; i++)
        text_add(&most, "\u00e9"); /* two bytes */
    ck_assert_ptr_null(parse(most.s));
    ck_assert_uint_eq(strlen(request.text), 200);
    text_add(&most, "x");
    ck_assert_ptr_nonnull(parse(most.s));
    text_release(&most);
    ck_assert_ptr_null(parse("mark  step 7: a \"b\" --json"));
    ck_assert_str_eq(request.text, "step 7: a \"b\" --json");
    static const char *const wrongs[] = {"mark a\tb",     "mark \x1b[31m", "mark \xff",
                                         "mark \xc2\x9b", "mark \u202e",   "mark \xc3"};
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        ck_assert_msg(parse(wrongs[i]) != NULL, "%zu", i);
}
END_TEST

CHECK_MAIN("ctl_request", 20, each_word_asks_for_its_own, what_is_no_request_is_refused,
           a_mark_is_short_and_clean)
