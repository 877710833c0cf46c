/* What JIT compilers register, as a hostile target might write it. */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "target/elf_object.h"
#include "target/jit_list.h"
#include "target/modules_private.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"
#include "tests/support/mem_image.h"

enum { DESCRIPTOR = 0x1000, LINKS = 0x2000, OBJECT = 0x10000, CODE = 0x700000, TABLE = 0x800000 };

/* ---- the list ---- */

static void put_descriptor(struct mem *m, uint32_t version, uint64_t relevant, uint64_t first)
{
    uint64_t words[3] = {version, relevant, first};
    ck_assert_int_eq(mem_image_add(m, DESCRIPTOR, words, sizeof words), 0);
}

static uint64_t link_at(uint64_t i)
{
    return LINKS + i * 32;
}

static void put_link(struct mem *m, uint64_t i, uint64_t next)
{
    uint64_t words[4] = {next, 0, OBJECT + i, 100 + i};
    ck_assert_int_eq(mem_image_add(m, link_at(i), words, sizeof words), 0);
}

static struct mem *list_of(uint64_t n, uint64_t last_next)
{
    struct mem *m = mem_image_new();
    put_descriptor(m, 1, n, n ? link_at(0) : last_next);
    for (uint64_t i = 0; i < n; i++)
        put_link(m, i, i + 1 < n ? link_at(i + 1) : last_next);
    return m;
}

START_TEST(list_is_read_once_while_it_stays)
{
    struct jit_list l = {.descriptor = DESCRIPTOR};
    struct mem *m = list_of(3, 0);
    ck_assert(jit_list_refresh(&l, m));
    ck_assert_uint_eq(l.n, 3);
    ck_assert(l.whole);
    ck_assert_uint_eq(l.items[2].entry, link_at(2));
    ck_assert_uint_eq(l.items[2].file.start, OBJECT + 2);
    ck_assert_uint_eq(l.items[2].file.len, 102);
    ck_assert(!jit_list_refresh(&l, m));
    mem_free(m);
    m = list_of(2, 0);
    ck_assert(jit_list_refresh(&l, m));
    ck_assert_uint_eq(l.n, 2);
    jit_list_release(&l);
    mem_free(m);
}
END_TEST

START_TEST(lists_that_are_none_are_empty)
{
    struct jit_list l = {.descriptor = DESCRIPTOR};
    struct mem *none = mem_image_new();
    struct mem *newer = mem_image_new();
    struct mem *empty = list_of(0, 0);
    put_descriptor(newer, 2, LINKS, LINKS);
    put_link(newer, 0, 0);
    struct mem *all[] = {none, newer, empty};
    for (size_t i = 0; i < 3; i++) {
        (void)jit_list_refresh(&l, all[i]);
        ck_assert_uint_eq(l.n, 0);
        mem_free(all[i]);
    }
    jit_list_release(&l);
}
END_TEST

START_TEST(circles_and_broken_links_end_the_list)
{
    uint64_t ends[] = {LINKS, LINKS + 64, 0xdead0000, UINT64_MAX - 3};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct jit_list l = {.descriptor = DESCRIPTOR};
        struct mem *m = list_of(5, ends[i]);
        ck_assert(jit_list_refresh(&l, m));
        ck_assert_uint_eq(l.n, 5);
        ck_assert(!l.whole);
        ck_assert(jit_list_refresh(&l, m)); /* it might be whole by now */
        jit_list_release(&l);
        mem_free(m);
    }
}
END_TEST

/* ---- objects ---- */

enum { TEXT = 1, UNWIND, RELA, SYMTAB, STRTAB, SHSTRTAB, SECTIONS };

struct wait_object {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    uint8_t text[32];
    uint64_t unwind[2];
    Elf64_Rela relas[3];
    Elf64_Sym symbols[2];
    char strings[8];
    char names[64];
};

static Elf64_Shdr section(struct wait_object *o, const char *name, uint32_t type, uint64_t flags,
                          uint64_t addr, const void *bytes, size_t len)
{
    size_t at = 1;
    while (o->names[at])
        at += strlen(&o->names[at]) + 1;
    strcpy(&o->names[at], name);
    return (Elf64_Shdr){.sh_name = (uint32_t)at,
                        .sh_type = type,
                        .sh_flags = flags,
                        .sh_addr = addr,
                        .sh_offset = (uint64_t)((const char *)bytes - (const char *)o),
                        .sh_size = len,
                        .sh_addralign = 1};
}

/* A function "f" of 16 bytes at CODE + 8, and a table with its address, absolute and relative. */
static struct wait_object make_object(void)
{
    struct wait_object o = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_REL,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shoff = offsetof(struct wait_object, sections),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = SECTIONS,
                   .e_shstrndx = SHSTRTAB},
        .relas = {{0, ELF64_R_INFO(1, R_X86_64_64), 2},
                  {8, ELF64_R_INFO(1, R_X86_64_PC64), 0},
                  {1000, ELF64_R_INFO(1, R_X86_64_64), 0}},
        .strings = "\0f",
    };
    Elf64_Shdr *s = o.sections;
    const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
    s[TEXT] = section(&o, ".text", SHT_PROGBITS, code, CODE, o.text, sizeof o.text);
    s[UNWIND] = section(&o, ".eh_frame", SHT_X86_64_UNWIND, SHF_ALLOC, TABLE, o.unwind, 16);
    s[RELA] = section(&o, ".rela", SHT_RELA, 0, 0, o.relas, sizeof o.relas);
    s[SYMTAB] = section(&o, ".symtab", SHT_SYMTAB, 0, 0, o.symbols, sizeof o.symbols);
    s[STRTAB] = section(&o, ".strtab", SHT_STRTAB, 0, 0, o.strings, sizeof o.strings);
    s[SHSTRTAB] = section(&o, ".names", SHT_STRTAB, 0, 0, o.names, sizeof o.names);
    s[RELA].sh_link = SYMTAB;
    s[RELA].sh_info = UNWIND;
    s[RELA].sh_entsize = sizeof *o.relas;
    s[SYMTAB].sh_link = STRTAB;
    s[SYMTAB].sh_info = 1;
    s[SYMTAB].sh_entsize = sizeof *o.symbols;
    o.symbols[1] = (Elf64_Sym){.st_name = 1,
                               .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                               .st_shndx = TEXT,
                               .st_value = 8,
                               .st_size = 16};
    return o;
}

static struct mem *memory_with(const struct wait_object *o, size_t len)
{
    uint8_t code[sizeof o->text];
    struct mem *m = mem_image_new();
    memset(code, 0xc3, sizeof code);
    ck_assert_int_eq(mem_image_add(m, OBJECT, o, len), 0);
    ck_assert_int_eq(mem_image_add(m, CODE, code, sizeof code), 0);
    return m;
}

START_TEST(object_becomes_a_file_at_its_addresses)
{
    struct wait_object o = make_object();
    struct mem *m = memory_with(&o, sizeof o);
    const struct addr_range where = {OBJECT, sizeof o};
    struct addr_range code[4];
    size_t headers;
    ck_assert_uint_eq(elf_object_code(m, &where, code, 4, &headers), 1);
    ck_assert_uint_eq(code[0].start, CODE);
    ck_assert_uint_eq(code[0].len, sizeof o.text);
    struct elf_file *f;
    struct addr_range symbol;
    ck_assert_int_eq(elf_file_from_object(&f, m, &where, NULL), 0);
    ck_assert_int_eq(elf_file_symbol(f, "f", &symbol), 0);
    ck_assert_uint_eq(symbol.start, CODE + 8);
    ck_assert(elf_file_is_code(f, CODE + 8));
    ck_assert(!elf_file_is_code(f, TABLE));
    uint8_t byte;
    ck_assert_int_eq(elf_file_read(f, CODE + 31, &byte, 1), 0);
    ck_assert_uint_eq(byte, 0xc3); /* as in memory, not as in the object */
    f = elf_file_free(f);
    struct elf_image image;
    struct elf_layout layout;
    struct elf_budget budget = {.bytes = 2 * sizeof o};
    ck_assert_int_eq(elf_object_read(&image, &layout, m, &where, &budget), 0);
    ck_assert_uint_eq(budget.bytes, sizeof o);
    ck_assert_uint_eq(budget.cut, 0);
    ck_assert_int_eq(elf_file_from_object(&f, m, &where, &budget), -ENOSPC);
    ck_assert_uint_eq(budget.cut, 1);
    uint64_t table[2];
    memcpy(table, image.bytes + offsetof(struct wait_object, unwind), sizeof table);
    ck_assert_uint_eq(table[0], CODE + 8 + 2);
    ck_assert_uint_eq(table[1], CODE + 8 - (TABLE + UINT64_C(8)));
    elf_image_release(&image);
    mem_free(m);
}
END_TEST

/* It is unmapped while its section headers are read, some at a time. */
START_TEST(an_object_that_is_cut_has_the_code_before)
{
    enum { AT_ONCE = 16, MANY = 3 * AT_ONCE };
    static struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[MANY];
    } o;
    struct addr_range code[MANY];
    size_t headers;
    o.header = make_object().header;
    o.header.e_shoff = sizeof o.header;
    o.header.e_shnum = MANY;
    for (size_t i = 0; i < MANY; i++)
        o.sections[i] = (Elf64_Shdr){
            .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = CODE + i * 16, .sh_size = 16};
    struct mem *m = mem_image_new();
    ck_assert_int_eq(mem_image_add(m, OBJECT, &o, sizeof o - sizeof *o.sections), 0);
    const struct addr_range where = {OBJECT, sizeof o};
    ck_assert_uint_eq(elf_object_code(m, &where, code, MANY, &headers), 2 * AT_ONCE);
    ck_assert_uint_eq(headers, 1 + 2 * AT_ONCE);
    mem_free(m);
}
END_TEST

static void try_object(const struct wait_object *o, size_t len)
{
    struct mem *m = memory_with(o, sizeof *o);
    const struct addr_range where = {OBJECT, len};
    struct addr_range code[4], symbol;
    size_t headers;
    struct elf_file *f = NULL;
    ck_assert_uint_le(elf_object_code(m, &where, code, 4, &headers), 4);
    if (elf_file_from_object(&f, m, &where, NULL) == 0) {
        uint8_t byte;
        (void)elf_file_symbol(f, "f", &symbol);
        (void)elf_file_read(f, CODE, &byte, 1);
        elf_file_free(f);
    }
    mem_free(m);
}

START_TEST(hostile_objects_do_no_harm)
{
    const struct wait_object good = make_object();
    for (size_t len = 0; len < sizeof good; len += 7)
        try_object(&good, len);
    for (size_t at = 0; at < sizeof good; at++) {
        static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
        for (size_t v = 0; v < sizeof values; v++) {
            struct wait_object bad = good;
            ((uint8_t *)&bad)[at] = values[v];
            try_object(&bad, sizeof bad);
        }
    }
    struct elf_file *f;
    struct mem *m = memory_with(&good, sizeof good);
    ck_assert_int_eq(elf_file_from_object(&f, m, &(struct addr_range){OBJECT, UINT64_MAX}, NULL),
                     -ENOEXEC);
    ck_assert_int_eq(elf_file_from_object(&f, m, &(struct addr_range){1, sizeof good}, NULL),
                     -EFAULT);
    mem_free(m);
}
END_TEST

/* As many sections as there may be, half of them tables of symbols and half of relocations, all
 * of the same bytes.  Going through them all would take 17 s, though they hold nothing but
 * zeros. */
START_TEST(sections_that_overlap_cost_no_more_than_the_object)
{
    enum { LEN = 60 << 20, ALL = 4000 };
    uint8_t *bytes = calloc(1, LEN);
    const struct wait_object good = make_object();
    Elf64_Ehdr header = good.header;
    header.e_shnum = ALL;
    header.e_shoff = sizeof header;
    header.e_shstrndx = 0;
    memcpy(bytes, &header, sizeof header);
    for (size_t i = 1; i < ALL; i++) {
        Elf64_Shdr s = {.sh_type = i % 2 ? SHT_SYMTAB : SHT_RELA,
                        .sh_offset = header.e_shoff + ALL * sizeof s,
                        .sh_link = 1,
                        .sh_info = 2};
        s.sh_size = LEN - s.sh_offset;
        memcpy(bytes + header.e_shoff + i * sizeof s, &s, sizeof s);
    }
    struct bytes_mem memory = bytes_mem_of(OBJECT, bytes, LEN);
    struct elf_file *f = NULL;
    struct addr_range symbol;
    const struct addr_range where = {OBJECT, LEN};
    clock_t begun = clock();
    ck_assert_int_eq(elf_file_from_object(&f, &memory.mem, &where, NULL), 0);
    ck_assert_int_eq(elf_file_symbol(f, "f", &symbol), -ENOENT);
    ck_assert_int_lt(clock() - begun, 8 * CLOCKS_PER_SEC); /* of CPU; 0.1 s without valgrind */
    elf_file_free(f);
    free(bytes);
}
END_TEST

START_TEST(code_at_absurd_addresses_is_none)
{
    static const struct addr_range absurd[] = {
        {0, 16}, {CODE, 0}, {UINT64_MAX - 7, 16}, {INT64_MAX, 16}, {CODE, UINT64_MAX - CODE}};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        struct wait_object o = make_object();
        struct addr_range code[4];
        size_t headers;
        o.sections[TEXT].sh_addr = absurd[i].start;
        o.sections[TEXT].sh_size = absurd[i].len;
        struct mem *m = memory_with(&o, sizeof o);
        ck_assert_uint_eq(
            elf_object_code(m, &(struct addr_range){OBJECT, sizeof o}, code, 4, &headers), 0);
        mem_free(m);
    }
}
END_TEST

/* ---- as modules ---- */

/* Memory that counts what is read of objects. */
struct counting {
    struct mem mem;
    struct mem *image;
    size_t heads, sections; /* headers: of files, of sections */
};

static int counting_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct counting *c = (struct counting *)m;
    c->heads += addr >= OBJECT && len == sizeof(Elf64_Ehdr);
    c->sections += addr >= OBJECT && len > sizeof(Elf64_Ehdr) ? len / sizeof(Elf64_Shdr) : 0;
    return mem_read(c->image, addr, buf, len);
}

static const struct mem_ops counting_ops = {.read = counting_read};

/* The lists of M as they are in IMAGE now. */
static void refresh(struct modules *m, struct counting *c, struct mem *image)
{
    mem_free(c->image);
    *c = (struct counting){.mem = {&counting_ops}, .image = image};
    m->reading.due_ns = 0;
    (void)modules_refresh_objects(m);
}

/* N objects with 32 bytes of code each, the last first in the list. */
static struct mem *objects_in_memory(uint64_t n)
{
    struct mem *m = mem_image_new();
    put_descriptor(m, 1, n, link_at(n - 1));
    for (uint64_t i = 0; i < n; i++) {
        struct wait_object o = make_object();
        uint64_t words[4] = {i ? link_at(i - 1) : 0, 0, OBJECT + i * sizeof o, sizeof o};
        o.sections[TEXT].sh_addr = CODE + i * 32;
        ck_assert_int_eq(mem_image_add(m, link_at(i), words, sizeof words), 0);
        ck_assert_int_eq(mem_image_add(m, words[2], &o, sizeof o), 0);
    }
    return m;
}

START_TEST(known_objects_are_not_read_again)
{
    struct counting c = {.mem = {&counting_ops}};
    struct modules *m = modules_new(1, &c.mem);
    m->lists[m->n_lists++] = (struct jit_list){.descriptor = DESCRIPTOR};
    refresh(m, &c, objects_in_memory(3));
    ck_assert_uint_eq(c.heads, 3);
    const struct module *second = modules_find(m, CODE + 32);
    ck_assert_ptr_nonnull(second);
    ck_assert_uint_eq(second->start, CODE + 32);
    ck_assert_uint_eq(second->end, CODE + 64);
    refresh(m, &c, objects_in_memory(5));
    ck_assert_uint_eq(c.heads, 2);
    ck_assert_ptr_eq(modules_find(m, CODE + 63), second);
    ck_assert_ptr_nonnull(modules_find(m, CODE + 4 * 32));
    refresh(m, &c, objects_in_memory(1));
    ck_assert_uint_eq(c.heads, 0);
    ck_assert_ptr_null(modules_find(m, CODE + 63));
    refresh(m, &c, objects_in_memory(2)); /* registered anew: another */
    ck_assert_uint_eq(c.heads, 1);
    ck_assert_ptr_ne(modules_find(m, CODE + 63), second);
    modules_free(m);
    mem_free(c.image);
}
END_TEST

/* N objects that share 4000 headers of sections.  One header names code, which is the first
 * object's. */
static struct mem *large_objects(uint64_t n)
{
    enum { ALL = 4000 };
    struct mem *m = mem_image_new();
    const struct wait_object good = make_object();
    static Elf64_Shdr sections[ALL];
    sections[1] = good.sections[TEXT];
    ck_assert_int_eq(mem_image_add(m, TABLE, sections, sizeof sections), 0);
    put_descriptor(m, 1, n, link_at(0));
    for (uint64_t i = 0; i < n; i++) {
        Elf64_Ehdr header = good.header;
        uint64_t at = OBJECT + i * sizeof header;
        uint64_t words[4] = {i + 1 < n ? link_at(i + 1) : 0, 0, at, TABLE + sizeof sections - at};
        header.e_shoff = TABLE - at;
        header.e_shnum = ALL;
        ck_assert_int_eq(mem_image_add(m, at, &header, sizeof header), 0);
        ck_assert_int_eq(mem_image_add(m, link_at(i), words, sizeof words), 0);
    }
    return m;
}

START_TEST(not_all_objects_are_read_at_once)
{
    struct counting c = {.mem = {&counting_ops}};
    struct modules *m = modules_new(1, &c.mem);
    m->lists[m->n_lists++] = (struct jit_list){.descriptor = DESCRIPTOR};
    refresh(m, &c, large_objects(100));
    ck_assert_uint_le(c.sections, (1 << 18) + 4000);
    ck_assert(m->objects_left);
    size_t before = c.heads;
    refresh(m, &c, large_objects(100));
    ck_assert_uint_eq(before + c.heads, 100);
    ck_assert(!m->objects_left);
    refresh(m, &c, large_objects(100));
    ck_assert_uint_eq(c.heads, 0);
    modules_free(m);
    mem_free(c.image);
}
END_TEST

struct failing {
    struct mem mem;
    struct mem *image;
    int left; /* reads before the one that fails */
};

static int failing_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct failing *f = (struct failing *)m;
    return f->left-- == 0 ? -EFAULT : mem_read(f->image, addr, buf, len);
}

START_TEST(a_read_that_fails_is_made_up_for)
{
    static const struct mem_ops ops = {.read = failing_read};
    for (int k = 0; k < 12; k++) {
        struct jit_list l = {.descriptor = DESCRIPTOR};
        struct failing f = {.mem = {&ops}, .image = list_of(3, 0), .left = k};
        (void)jit_list_refresh(&l, &f.mem);
        ck_assert_uint_le(l.n, 3);
        (void)jit_list_refresh(&l, &f.mem);
        ck_assert_uint_eq(l.n, 3);
        ck_assert(l.whole);
        jit_list_release(&l);
        mem_free(f.image);
    }
}
END_TEST

CHECK_MAIN("jit", 30, list_is_read_once_while_it_stays, lists_that_are_none_are_empty,
           circles_and_broken_links_end_the_list, a_read_that_fails_is_made_up_for,
           object_becomes_a_file_at_its_addresses, hostile_objects_do_no_harm,
           sections_that_overlap_cost_no_more_than_the_object, code_at_absurd_addresses_is_none,
           an_object_that_is_cut_has_the_code_before, known_objects_are_not_read_again,
           not_all_objects_are_read_at_once)
