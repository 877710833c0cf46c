/* The symbols of a module that are kept when the wanted addresses are known. */
#include "symbolizer/symtab.h"

#include <gelf.h>
#include <inttypes.h>

#include "symbolizer/dwarf_names.h"
#include "tests/support/check_main.h"
#include "tests/support/symbol_names.h"

static const char *name_at(const struct names *n, uint64_t addr)
{
    struct location l[MAX_INLINED + 1];
    size_t found = module_names_find(n->names, addr, 0, l);
    return found ? profile_text(n->profile, l[found - 1].function) : "none";
}

/* Looks up WANTED as the only ones.  They must be called what ALL, which knows everything, calls
 * them. */
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

static bool is_covered(const GElf_Sym *symbols, size_t n, uint64_t addr)
{
    for (size_t i = 0; i < n; i++)
        if (addr - symbols[i].st_value < symbols[i].st_size)
            return true;
    return false;
}

/* The sized symbols of SCN that are code. */
static size_t code_symbols(Elf_Scn *scn, GElf_Sym *ret, size_t room)
{
    GElf_Sym sym;
    size_t n = 0;
    Elf_Data *data = elf_getdata(scn, NULL);
    for (int i = 0; n < room && gelf_getsym(data, i, &sym); i++)
        if (sym.st_size && sym.st_shndx != SHN_UNDEF && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
            ret[n++] = sym;
    return n;
}

static size_t dynamic_code_symbols(Elf *elf, GElf_Sym *ret, size_t room)
{
    size_t n = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        ck_assert_ptr_nonnull(gelf_getshdr(scn, &header));
        ck_assert_uint_ne(header.sh_type, SHT_SYMTAB);
        if (header.sh_type == SHT_DYNSYM)
            n = code_symbols(scn, ret, room);
    }
    return n;
}

/* With .dynsym alone: each byte of .text has a name exactly if a symbol's size covers it. */
START_TEST(no_name_past_a_symbols_size)
{
    enum { MAX_SYMBOLS = 500 };
    struct names n;
    struct addr_range text;
    struct addr_range entry;
    GElf_Sym symbols[MAX_SYMBOLS];
    ck_assert(names_open(&n, "dynsym"));
    ck_assert_int_eq(elf_file_section(n.file, ".text", &text), 0);
    ck_assert_int_eq(elf_file_symbol(n.file, "asm_entry", &entry), 0);
    size_t count = dynamic_code_symbols(elf_file_elf(n.file), symbols, MAX_SYMBOLS);
    ck_assert_uint_gt(count, 3);
    /* asm_entry has no size: it reaches to the end of the section. */
    for (uint64_t at = text.start; at < entry.start; at++) {
        bool named = !str_eq(name_at(&n, at), "none");
        ck_assert_msg(named == is_covered(symbols, count, at), "0x%" PRIx64, at);
    }
    names_close(&n);
}
END_TEST

CHECK_MAIN("symtab", 40, a_few_addresses_get_the_same_names, no_name_past_a_symbols_size)
