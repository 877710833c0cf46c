/* Functions inlined into themselves, and sources in folders that nobody names. */
#include "symbolizer/dwarf_names.h"
#include "symbolizer/module_names.h"
#include "tests/support/check_main.h"
#include "tests/support/symbol_names.h"

/* How many calls of FUNCTION, inlined into each other, an address of it is in at most. */
static size_t deepest(const struct names *n, const char *function)
{
    struct addr_range r;
    size_t most = 0;
    ck_assert_int_eq(elf_file_symbol(n->file, function, &r), 0);
    for (uint64_t addr = r.start; addr < r.start + r.len; addr++) {
        struct location l[MAX_INLINED + 1];
        size_t found = module_names_find(n->names, addr, 0, l);
        for (size_t i = 0; i < found; i++)
            ck_assert_str_eq(profile_text(n->profile, l[i].function), function);
        if (found)
            ck_assert(!l[found - 1].inlined);
        most = found > most ? found : most;
    }
    return most;
}

START_TEST(a_function_split_into_itself_is_one)
{
    struct names n;
    struct location l[MAX_INLINED + 1];
    ck_assert(names_open(&n, "split_up"));
    ck_assert_uint_eq(deepest(&n, "split_up"), 1);
    ck_assert_uint_gt(deepest(&n, "fib"), 1); /* one that calls itself is not */
    struct addr_range r;
    ck_assert_int_eq(elf_file_symbol(n.file, "split_up", &r), 0);
    uint32_t last = 0;
    for (size_t i = 0; i < 64 && module_names_find(n.names, r.start + i, 0, l) == 1; i++)
        last = l[0].line > last ? l[0].line : last;
    ck_assert_uint_gt(last, 20); /* its place is that of the part */
    names_close(&n);
}
END_TEST

START_TEST(relative_folders_go_up)
{
    struct names n;
    struct location l[MAX_INLINED + 1];
    struct addr_range r;
    ck_assert(names_open(&n, "relative"));
    ck_assert_int_eq(elf_file_symbol(n.file, "plain_c", &r), 0);
    ck_assert_uint_ge(module_names_find(n.names, r.start, 0, l), 1);
    ck_assert_str_eq(profile_text(n.profile, l[0].file), "lib/plain.c");
    names_close(&n);
}
END_TEST

CHECK_MAIN("symbolizer_inlined", 10, a_function_split_into_itself_is_one, relative_folders_go_up)
