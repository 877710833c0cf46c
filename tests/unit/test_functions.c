/* Functions of a small program, by its symbols and by what its code calls. */
#include "unwinder/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/support/check_main.h"
#include "tests/support/symbol_names.h"

static void assert_function(struct functions *f, struct elf_file *file, const char *name)
{
    struct addr_range want, found;
    ck_assert_int_eq(elf_file_symbol(file, name, &want), 0);
    for (uint64_t at = want.start; at < want.start + want.len; at++) {
        ck_assert_int_eq(functions_find(f, at, &found), 0);
        ck_assert_uint_eq(found.start, want.start);
        ck_assert_uint_eq(found.len, want.len);
        ck_assert_uint_eq(functions_begin(f, at), want.start);
    }
}

START_TEST(functions_are_found)
{
    static const char *const files[] = {"split_up", "split_fixed"};
    static const char *const names[] = {"begin", "slow", "split_up", "fib", "main"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct elf_file *file;
        char *path = variant_path(files[i]);
        ck_assert_int_eq(elf_file_open(&file, path, NULL), 0);
        free(path);
        struct functions *f = functions_new(file);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            assert_function(f, file, names[k]);
        struct addr_range ignored;
        ck_assert_int_eq(functions_find(f, 0, &ignored), -ENOENT);
        ck_assert_uint_eq(functions_begin(f, 0), 0);
        functions_free(f);
        elf_file_free(file);
    }
}
END_TEST

CHECK_MAIN("functions", 10, functions_are_found)
