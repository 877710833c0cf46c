/* Files that are well-formed enough for libelf and libdw, but made to cost as much as can be, or
 * to make libdw open what it should not. */
#include "symbolizer/module_names.h"

#include <elf.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "symbolizer/dwarf_names.h"
#include "tests/support/check_main.h"
#include "tests/support/symbol_names.h"

static size_t find(const struct names *n, const char *symbol, uint64_t function,
                   struct location *ret)
{
    struct addr_range r;
    ck_assert_msg(elf_file_symbol(n->file, symbol, &r) == 0, "%s", symbol);
    return module_names_find(n->names, r.start, function ? r.start + function : 0, ret);
}

/* Looks SYMBOL up; returns its function as it is named, "none" without one. */
static const char *name_of(const struct names *n, const char *symbol, struct location *ret)
{
    struct location l[MAX_INLINED + 1];
    size_t found = find(n, symbol, 0, l);
    if (!found)
        return "none";
    *ret = l[found - 1];
    return profile_text(n->profile, ret->function);
}

START_TEST(entries_are_walked_once)
{
    static const char *const files[] = {"blocks", "calls", "namespaces", "ranges"};
    struct names n;
    struct location l;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ck_assert(names_open(&n, files[i]));
        ck_assert_str_eq(name_of(&n, "_start", &l), i < 3 ? "start" : "_start");
        names_close(&n);
    }
}
END_TEST

START_TEST(calls_inlined_into_one_function_are_bounded)
{
    struct names n;
    struct location l;
    enum { MAX_MORE = 32 << 20 };
    ck_assert(names_open(&n, "many_calls"));
    struct mallinfo2 before = mallinfo2();
    ck_assert_str_eq(name_of(&n, "_start", &l), "start");
    struct mallinfo2 after = mallinfo2();
    ck_assert_uint_lt(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + MAX_MORE);
    names_close(&n);
}
END_TEST

START_TEST(a_shared_file_of_another_build_is_not_taken)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "alt_wrong"));
    ck_assert_str_eq(name_of(&n, "plain_c", &l), "plain_c");
    ck_assert_uint_eq(l.file.ix, 0);
    names_close(&n);
}
END_TEST

START_TEST(a_fifo_is_no_debug_file)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "fifo/split"));
    ck_assert_str_eq(name_of(&n, "plain_c", &l), "plain_c");
    names_close(&n);
}
END_TEST

START_TEST(what_was_unpacked_is_freed)
{
    struct names n;
    struct location l;
    enum { MIN_PACKED = 10000 };
    ck_assert(names_open(&n, "packed"));
    size_t before = mallinfo2().uordblks;
    ck_assert_str_eq(name_of(&n, "plain_c", &l), "plain_c");
    ck_assert_uint_ne(l.file.ix, 0);
    n.names = module_names_close(n.names);
    if (before) /* a sanitizer's malloc does not tell */
        ck_assert_uint_lt(mallinfo2().uordblks, before - MIN_PACKED); /* unpacked by opening */
    names_close(&n);
}
END_TEST

/* Gives the first packed section of the file at PATH another size. */
static void claim_size(const char *path, uint64_t size)
{
    FILE *f = fopen(path, "r+");
    Elf64_Ehdr header;
    Elf64_Shdr section;
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fread(&header, sizeof header, 1, f), 1);
    for (int i = 0; i < header.e_shnum; i++) {
        Elf64_Chdr packed;
        ck_assert_int_eq(fseek(f, (long)(header.e_shoff + (size_t)i * sizeof section), SEEK_SET),
                         0);
        ck_assert_uint_eq(fread(&section, sizeof section, 1, f), 1);
        if (!(section.sh_flags & SHF_COMPRESSED))
            continue;
        ck_assert_int_eq(fseek(f, (long)section.sh_offset, SEEK_SET), 0);
        ck_assert_uint_eq(fread(&packed, sizeof packed, 1, f), 1);
        packed.ch_size = size;
        ck_assert_int_eq(fseek(f, (long)section.sh_offset, SEEK_SET), 0);
        ck_assert_uint_eq(fwrite(&packed, sizeof packed, 1, f), 1);
        break;
    }
    fclose(f);
}

static void copy_file(const char *from, const char *to)
{
    char buf[4096];
    FILE *in = fopen(from, "r");
    FILE *out = fopen(to, "w");
    ck_assert(in && out);
    for (size_t n; (n = fread(buf, 1, sizeof buf, in)) > 0;)
        ck_assert_uint_eq(fwrite(buf, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* The first section of the old kind says that it is of 608 MiB. */
static void claim_old_size(const char *path)
{
    static char bytes[1 << 20];
    static const char size[8] = {0, 0, 0, 0, 0x26};
    FILE *f = fopen(path, "r+");
    ck_assert_ptr_nonnull(f);
    size_t len = fread(bytes, 1, sizeof bytes, f);
    const char *magic = memmem(bytes, len, "ZLIB\0\0\0\0", 8);
    ck_assert_ptr_nonnull(magic);
    ck_assert_int_eq(fseek(f, magic - bytes + 4, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(size, sizeof size, 1, f), 1);
    fclose(f);
}

static void claim_new_size(const char *path)
{
    claim_size(path, UINT64_C(600) << 20);
}

static void expect_dwarf(const char *path, bool there)
{
    struct names n;
    struct location l;
    ck_assert(names_open_path(&n, path));
    ck_assert_str_eq(name_of(&n, "plain_c", &l), "plain_c");
    ck_assert_int_eq(l.file.ix != 0, there);
    names_close(&n);
}

START_TEST(too_much_is_not_unpacked)
{
    static const struct {
        const char *variant;
        void (*claim)(const char *path);
    } kinds[] = {{"packed", claim_new_size}, {"packed_gnu", claim_old_size}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[] = "/tmp/wallspy-packed-XXXXXX";
        int fd = mkstemp(path);
        ck_assert_int_ge(fd, 0);
        char *from = variant_path(kinds[i].variant);
        copy_file(from, path);
        expect_dwarf(path, true);
        kinds[i].claim(path);
        expect_dwarf(path, false);
        unlink(path);
        close(fd);
        free(from);
    }
}
END_TEST

/* Made by objcopy --only-keep-debug of another program, say, or by somebody who means harm. */
START_TEST(a_packed_section_may_have_no_bytes)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "nobits"));
    ck_assert_str_eq(name_of(&n, "plain_c", &l), "plain_c");
    names_close(&n);
}
END_TEST

START_TEST(a_dropped_function_names_nothing)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "odd"));
    ck_assert_str_eq(name_of(&n, "plain_c", &l), "plain_c");
    ck_assert_uint_eq(l.file.ix, 0);
    ck_assert_str_eq(name_of(&n, "_start", &l), "_start");
    names_close(&n);
}
END_TEST

START_TEST(a_generic_lambda_is_one)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "odd"));
    ck_assert_str_eq(name_of(&n, "_ZZ7genericENKUlT_E_clIlEEDaS_", &l),
                     "generic::{lambda}::operator()<long int>");
    names_close(&n);
}
END_TEST

struct members {
    struct names *n;
    size_t found;
};

static void check_member(void *ctx, const char *name, const struct addr_range *where, uint8_t info)
{
    struct members *m = ctx;
    struct location l[MAX_INLINED + 1];
    if (!str_starts(name, "_ZN3geo") || ELF64_ST_TYPE(info) != STT_FUNC)
        return;
    size_t n = module_names_find(m->n->names, where->start, 0, l);
    ck_assert_uint_gt(n, 0);
    const char *shown = profile_text(m->n->profile, l[n - 1].function);
    ck_assert_msg(strstr(shown, "geo::") != NULL, "%s: %s", name, shown);
    m->found++;
}

/* With line tables alone, as clang makes them, DWARF does not give a function's scope. */
START_TEST(members_are_qualified)
{
    static const char *const variants[] = {"dwarf5", "clang_lines"};
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        struct names n;
        struct members m = {.n = &n};
        bool built = names_open(&n, variants[i]);
        ck_assert(built || i > 0);
        if (!built) /* without clang */
            continue;
        elf_file_each_exported(n.file, check_member, &m);
        ck_assert_uint_ge(m.found, 3);
        names_close(&n);
    }
}
END_TEST

/* The calls in between are left out.  The outermost function is the right one all the same. */
START_TEST(more_inlined_calls_than_are_told_apart)
{
    struct names n;
    struct addr_range r;
    struct location l[MAX_INLINED + 1];
    ck_assert(names_open(&n, "odd"));
    ck_assert_int_eq(elf_file_symbol(n.file, "deep", &r), 0);
    size_t found = 0;
    for (uint64_t i = 0; i < r.len && found <= MAX_INLINED; i++)
        found = module_names_find(n.names, r.start + i, 0, l);
    ck_assert_uint_eq(found, MAX_INLINED + 1);
    ck_assert_str_eq(profile_text(n.profile, l[MAX_INLINED].function), "deep");
    ck_assert(str_ends(profile_text(n.profile, l[MAX_INLINED].file), "/outer.cc"));
    ck_assert_uint_eq(l[MAX_INLINED].line, 1002);
    names_close(&n);
}
END_TEST

/* ---- symbols ---- */

enum { CODE = 0x401000, CODE_BYTES = 4096 };

/* How the file that is written below is laid out. */
struct layout {
    uint64_t strings, strings_bytes, symbols, symbols_bytes;
    int n_tables;
};

static const char section_names[] = "\0.text\0.symtab\0.strtab";
enum { TEXT_NAME = 1, SYMTAB_NAME = 7, STRTAB_NAME = 15 };

static void put(FILE *f, const void *what, size_t bytes)
{
    ck_assert_uint_eq(fwrite(what, bytes, 1, f), 1);
}

static void put_header(FILE *f, const struct layout *l)
{
    const Elf64_Ehdr header = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof header,
        .e_shoff = l->symbols + l->symbols_bytes,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (uint16_t)(l->n_tables + 4),
        .e_shstrndx = 3,
    };
    const Elf64_Phdr load = {.p_type = PT_LOAD,
                             .p_flags = PF_R | PF_X,
                             .p_offset = CODE_BYTES,
                             .p_vaddr = CODE,
                             .p_filesz = CODE_BYTES,
                             .p_memsz = CODE_BYTES,
                             .p_align = CODE_BYTES};
    put(f, &header, sizeof header);
    put(f, &load, sizeof load);
}

static void put_sections(FILE *f, const struct layout *l)
{
    const Elf64_Shdr first[] = {
        {0},
        {.sh_name = TEXT_NAME,
         .sh_type = SHT_PROGBITS,
         .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
         .sh_addr = CODE,
         .sh_offset = CODE_BYTES,
         .sh_size = CODE_BYTES},
        {.sh_name = STRTAB_NAME,
         .sh_type = SHT_STRTAB,
         .sh_offset = l->strings,
         .sh_size = l->strings_bytes},
        {.sh_name = STRTAB_NAME,
         .sh_type = SHT_STRTAB,
         .sh_offset = l->strings + l->strings_bytes,
         .sh_size = sizeof section_names},
    };
    const Elf64_Shdr table = {.sh_name = SYMTAB_NAME,
                              .sh_type = SHT_SYMTAB,
                              .sh_offset = l->symbols,
                              .sh_size = l->symbols_bytes,
                              .sh_link = 2,
                              .sh_info = 1,
                              .sh_entsize = sizeof(Elf64_Sym)};
    put(f, first, sizeof first);
    for (int i = 0; i < l->n_tables; i++)
        put(f, &table, sizeof table);
}

/* A file whose N_TABLES symbol tables are the same N_SYMBOLS at one address, with names of up to
 * NAME_BYTES. */
static void write_symbols(const char *path, int n_tables, uint32_t n_symbols, uint32_t name_bytes)
{
    struct layout l = {.strings = CODE_BYTES * 2,
                       .strings_bytes = name_bytes + 2,
                       .symbols_bytes = n_symbols * sizeof(Elf64_Sym),
                       .n_tables = n_tables};
    l.symbols = (l.strings + l.strings_bytes + sizeof section_names + 7) & ~UINT64_C(7);
    char *names = xcalloc(1, l.strings_bytes);
    memset(names + 1, 'a', name_bytes);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    put_header(f, &l);
    ck_assert_int_eq(fseek(f, (long)l.strings, SEEK_SET), 0);
    put(f, names, l.strings_bytes);
    put(f, section_names, sizeof section_names);
    ck_assert_int_eq(fseek(f, (long)l.symbols, SEEK_SET), 0);
    for (uint32_t i = 0; i < n_symbols; i++) {
        const Elf64_Sym s = {.st_name = i ? 1 + i % (name_bytes / 2 + 1) : 0,
                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                             .st_shndx = i ? 1 : 0,
                             .st_value = CODE,
                             .st_size = CODE_BYTES};
        put(f, &s, sizeof s);
    }
    put_sections(f, &l);
    fclose(f);
    free(names);
}

static void name_symbols(int n_tables, uint32_t n_symbols, uint32_t name_bytes, bool named)
{
    struct names n;
    struct location l[MAX_INLINED + 1];
    char path[] = "/tmp/wallspy-symbols-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    write_symbols(path, n_tables, n_symbols, name_bytes);
    ck_assert(names_open_path(&n, path));
    ck_assert_uint_eq(module_names_find(n.names, CODE, 0, l), named);
    names_close(&n);
    unlink(path);
    close(fd);
}

START_TEST(a_table_counts_once)
{
    name_symbols(1, 100, 8, true);
    name_symbols(2000, 50000, 8, true);
}
END_TEST

START_TEST(endless_names_are_none)
{
    name_symbols(1, 20000, 20 << 20, false);
}
END_TEST

START_TEST(a_symbol_without_a_size_ends_where_its_function_does)
{
    struct names n;
    struct location l[MAX_INLINED + 1];
    ck_assert(names_open(&n, "symbols"));
    ck_assert_uint_eq(find(&n, "asm_entry", 0, l), 1);
    ck_assert_uint_eq(find(&n, "asm_entry", 1, l), 0); /* CFI: another began behind it */
    ck_assert_uint_eq(find(&n, "sized", 1, l), 1);     /* a symbol's size is believed */
    names_close(&n);
}
END_TEST

CHECK_MAIN("symbolizer_limits", 20, entries_are_walked_once,
           a_shared_file_of_another_build_is_not_taken, calls_inlined_into_one_function_are_bounded,
           a_fifo_is_no_debug_file, what_was_unpacked_is_freed, too_much_is_not_unpacked,
           a_packed_section_may_have_no_bytes, a_dropped_function_names_nothing,
           a_generic_lambda_is_one, members_are_qualified, more_inlined_calls_than_are_told_apart,
           a_table_counts_once, endless_names_are_none,
           a_symbol_without_a_size_ends_where_its_function_does)
