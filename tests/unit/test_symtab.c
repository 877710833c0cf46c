/* What is kept of a module's symbols when it is known what will be asked for. */
#include "symbolizer/symtab.h"

#include "symbolizer/dwarf_names.h"
#include "tests/support/check_main.h"
#include "tests/support/symbol_names.h"

static const char *name_at(const struct names *n, uint64_t addr)
{
    struct location l[MAX_INLINED + 1];
    size_t found = module_names_find(n->names, addr, l);
    return found ? profile_text(n->profile, l[found - 1].function) : "none";
}

/* WANTED are looked up as the only ones, and must be called what ALL, which knows everything, calls them. */
static void compare_few(const char *file, const struct names *all, const uint64_t *wanted, size_t n)
{
    struct names few;
    ck_assert(names_open(&few, file));
    module_names_want(few.names, wanted, n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_str_eq(name_at(&few, wanted[i]), name_at(all, wanted[i]));
    }
    names_close(&few);
}

START_TEST(a_few_addresses_get_the_same_names)
{
    enum { FEW = 7, STEP = 13, AROUND = 2048 };
    static const char *const files[] = {"symbols", "dynsym", "mini", "linked_wrong"};
    struct names all;
    ck_assert(names_open(&all, "symbols"));
    struct addr_range entry;
    ck_assert_int_eq(elf_file_symbol(all.file, "asm_entry", &entry), 0);
    names_close(&all);
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        ck_assert(names_open(&all, files[f]));
        uint64_t wanted[FEW];
        for (uint64_t at = entry.start - AROUND; at < entry.start + AROUND; at += STEP) {
            for (size_t i = 0; i < FEW; i++)
                wanted[i] = at + i * STEP;
            compare_few(files[f], &all, wanted, FEW);
        }
        names_close(&all);
    }
}
END_TEST

CHECK_MAIN("symtab", 40, a_few_addresses_get_the_same_names)
