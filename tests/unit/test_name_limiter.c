#include "base/name_limiter.h"

#include "tests/support/check_main.h"

enum { MOST = 3 };

static const char *limited(struct name_limiter *few, struct text *name, const char *as)
{
    text_clear(name);
    text_add(name, as);
    name_limiter_limit(few, name, MOST, name_limiter_by_group);
    return name->s;
}

START_TEST(first_ones_are_told_apart_later_ones_by_what_they_share)
{
    static const char *const names[][2] = {
        {"task-1", "task-1"}, {"task-2", "task-2"},  {"main", "main"},        {"task-3", "task-*"},
        {"task-4", "task-*"}, {"task-2", "task-2"},  {"a 1 b 22", "a * b *"}, {"x", "x"},
        {"y", "…"},           {"task-99", "task-*"}, {"main", "main"},        {"z7", "…"},
    };
    struct name_limiter few = {0};
    struct text name = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_str_eq(limited(&few, &name, names[i][0]), names[i][1]);
    text_release(&name);
    name_limiter_release(&few);
}
END_TEST

CHECK_MAIN("name_limiter", 20, first_ones_are_told_apart_later_ones_by_what_they_share)
