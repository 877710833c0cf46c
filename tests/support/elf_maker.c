#include "tests/support/elf_maker.h"

#include <check.h>
#include <string.h>
#include <unistd.h>

enum { CONTENTS_AT = 0x200, SECTIONS_AT = 0xc00 };

static void add_section(struct elf_maker *m, const char *name, uint32_t type, uint64_t flags,
                        const void *bytes, size_t len)
{
    const size_t name_bytes = strlen(name) + 1;
    if (!m->n) { /* section 0 and name 0 are no section's */
        m->n = 1;
        m->names_bytes = 1;
        m->at = CONTENTS_AT;
    }
    ck_assert_uint_lt(m->n, sizeof m->sections / sizeof *m->sections);
    ck_assert_uint_le(m->names_bytes + name_bytes, sizeof m->names);
    ck_assert_uint_le(m->at + len, SECTIONS_AT);
    m->sections[m->n++] = (Elf64_Shdr){.sh_name = (uint32_t)m->names_bytes,
                                       .sh_type = type,
                                       .sh_flags = flags,
                                       .sh_offset = m->at,
                                       .sh_size = len,
                                       .sh_addralign = 1};
    memcpy(m->names + m->names_bytes, name, name_bytes);
    m->names_bytes += name_bytes;
    memcpy(m->bytes + m->at, bytes, len);
    m->at += len;
}

void elf_maker_add(struct elf_maker *m, const char *name, uint64_t flags, const void *bytes,
                   size_t len)
{
    add_section(m, name, SHT_PROGBITS, flags, bytes, len);
}

void elf_maker_write(struct elf_maker *m, int fd)
{
    add_section(m, ".shstrtab", SHT_STRTAB, 0, m->names, sizeof m->names);
    /* Again: now with its own name. */
    memcpy(m->bytes + m->sections[m->n - 1].sh_offset, m->names, sizeof m->names);
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof header,
        .e_shoff = SECTIONS_AT,
        .e_ehsize = sizeof header,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = m->n,
        .e_shstrndx = (uint16_t)(m->n - 1)};
    const Elf64_Phdr load = {.p_type = PT_LOAD,
                             .p_flags = PF_R | PF_X,
                             .p_filesz = sizeof m->bytes,
                             .p_memsz = sizeof m->bytes,
                             .p_align = sizeof m->bytes};
    memcpy(m->bytes, &header, sizeof header);
    memcpy(m->bytes + sizeof header, &load, sizeof load);
    memcpy(m->bytes + SECTIONS_AT, m->sections, sizeof m->sections);
    ck_assert_int_eq(write(fd, m->bytes, sizeof m->bytes), sizeof m->bytes);
}
