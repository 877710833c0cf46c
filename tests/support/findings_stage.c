#include "tests/support/findings_stage.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

struct profile_builder b;
struct findings found;
static struct groups groups;

void judge(int64_t end_ms)
{
    struct view_options options = {0};
    profile_end(b.p, end_ms * NS_PER_MS);
    groups_init(&groups, b.p, &options);
    findings_init(&found, &groups);
}

void teardown(void)
{
    findings_release(&found);
    groups_release(&groups);
    profile_free(b.p);
}

void assert_told(size_t place, const char *rule, const char *words)
{
    ck_assert_uint_lt(place, found.n_printed);
    ck_assert_str_eq(found.printed[place]->rule, rule);
    if (!strstr(found.printed[place]->words, words))
        ck_abort_msg("\"%s\" is not in \"%s\"", words, found.printed[place]->words);
}

void assert_not_told(const char *rule)
{
    for (size_t i = 0; i < found.n_printed; i++)
        ck_assert_str_ne(found.printed[i]->rule, rule);
}

bool is_said(const char *words)
{
    bool said = false;
    for (size_t i = 0; i < found.n_printed; i++)
        said |= strstr(found.printed[i]->words, words) != NULL;
    return said;
}
