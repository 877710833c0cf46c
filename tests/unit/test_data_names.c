/* The names of this program's own variables. */
#include "symbolizer/data_names.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check_main.h"
#include "tests/support/elf_maker.h"

int exported_variable[4]; /* NOLINT(misc-use-internal-linkage) */
static int local_variable = 1;
static volatile int *keep;

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1; /* the program is the first */
}

static bool find(const void *addr, struct text *out)
{
    uint64_t bias = 0;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    ck_assert_ptr_nonnull(elf);
    (void)dl_iterate_phdr(take_bias, &bias);
    text_clear(out);
    bool found = data_name_find(elf, (uintptr_t)addr - bias, out);
    (void)elf_end(elf);
    close(fd);
    return found;
}

START_TEST(variables_have_their_names)
{
    struct text name = {0};
    keep = &local_variable;
    ck_assert(find(exported_variable, &name));
    ck_assert_str_eq(name.s, "exported_variable");
    ck_assert(find((const char *)exported_variable + sizeof exported_variable - 1, &name));
    ck_assert_str_eq(name.s, "exported_variable");
    ck_assert(find((const void *)keep, &name));
    ck_assert_str_eq(name.s, "local_variable");
    text_release(&name);
}
END_TEST

START_TEST(nothing_else_has)
{
    struct text name = {0};
    ck_assert(!find(&name, &name));
    ck_assert(!find((const void *)(uintptr_t)find, &name));
    ck_assert(!find(NULL, &name));
    ck_assert(!data_name_find(NULL, 1, &name));
    text_release(&name);
}
END_TEST

/* Adds a table of symbols that says the variable at ADDR is called as the table is. */
static void add_table(struct elf_maker *m, const char *name, uint32_t type, uint64_t addr)
{
    enum { NAMES = 4 }; /* the section of all names is the last */
    Elf64_Sym symbols[2] = {{0}};
    symbols[1] = (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                             .st_shndx = 1,
                             .st_value = addr,
                             .st_size = 8};
    symbols[1].st_name = (uint32_t)(m->names_bytes ? m->names_bytes : 1);
    elf_maker_add(m, name, 0, symbols, sizeof symbols);
    Elf64_Shdr *added = &m->sections[m->n - 1];
    added->sh_type = type;
    added->sh_entsize = sizeof *symbols;
    added->sh_link = NAMES;
}

/* A hostile file may have 65,000 tables, each as large as the file. */
START_TEST(a_second_table_is_none)
{
    struct elf_maker m = {0};
    struct text name = {0};
    int fd = memfd_create("elf", MFD_CLOEXEC);
    add_table(&m, "exported", SHT_DYNSYM, 0x10);
    add_table(&m, "another", SHT_DYNSYM, 0x20);
    add_table(&m, "local", SHT_SYMTAB, 0x30);
    elf_maker_write(&m, fd);
    (void)elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    ck_assert(data_name_find(elf, 0x10, &name));
    ck_assert_str_eq(name.s, "exported");
    ck_assert(data_name_find(elf, 0x30, &name));
    ck_assert_str_eq(name.s, "local");
    ck_assert(!data_name_find(elf, 0x20, &name));
    (void)elf_end(elf);
    close(fd);
    text_release(&name);
}
END_TEST

CHECK_MAIN("data_names", 20, variables_have_their_names, nothing_else_has, a_second_table_is_none)
