/* Which section of a file libdw may take for .debug_frame: one that was looked through, or none. */
#include "unwinder/cfi.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check_main.h"

enum { CODE = 0x100, CODE_BYTES = 0x100, SECTIONS_AT = 0x400, MAX_SECTIONS = 4 };

static const char names[] = "\0.debug_frame\0.shstrtab\0.zdebug_frame\0.debug_frame.dwo\0"
                            ".gnu.debuglto_.debug_frame\0.debug_info";
static const uint8_t padding[16];
/* CFA = rsp + 8, return address below it; an FDE for [CODE, CODE + CODE_BYTES). */
static const uint8_t sound[] = {
    12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, /* CIE */
    20, 0, 0, 0, 0,    0,    0,    0,    0, 1, 0, 0,    0,  0,    0, 0, 0, 1, 0, 0, 0, 0, 0, 0};

struct maker {
    uint8_t bytes[0x800];
    size_t at;
    Elf64_Shdr sections[MAX_SECTIONS];
    uint16_t n;
};

static uint32_t name_at(const char *name)
{
    uint32_t at = 0;
    while (strcmp(names + at, name) != 0)
        at += (uint32_t)strlen(names + at) + 1;
    return at;
}

static void put_section(struct maker *m, const char *name, uint32_t type, uint64_t flags,
                        const void *bytes, size_t len)
{
    m->sections[m->n++] = (Elf64_Shdr){.sh_name = name_at(name),
                                       .sh_type = type,
                                       .sh_flags = flags,
                                       .sh_offset = m->at,
                                       .sh_size = len,
                                       .sh_addralign = 1};
    memcpy(m->bytes + m->at, bytes, len);
    m->at += len;
}

/* Does a rule come from .debug_frame if a section NAME with FLAGS and BYTES lies before it?  NULL: none does. */
static bool is_used_behind_bytes(const char *name, uint64_t flags, const void *bytes, size_t len)
{
    struct maker m = {.at = 0x200, .n = 1};
    char path[64];
    if (name)
        put_section(&m, name, SHT_PROGBITS, flags, bytes, len);
    put_section(&m, ".debug_frame", SHT_PROGBITS, 0, sound, sizeof sound);
    put_section(&m, ".shstrtab", SHT_STRTAB, 0, names, sizeof names);
    Elf64_Ehdr header = {
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
        .e_shnum = m.n,
        .e_shstrndx = (uint16_t)(m.n - 1)};
    Elf64_Phdr load = {.p_type = PT_LOAD,
                       .p_flags = PF_R | PF_X,
                       .p_filesz = sizeof m.bytes,
                       .p_memsz = sizeof m.bytes,
                       .p_align = 4096};
    memcpy(m.bytes, &header, sizeof header);
    memcpy(m.bytes + sizeof header, &load, sizeof load);
    memcpy(m.bytes + SECTIONS_AT, m.sections, sizeof m.sections);
    int fd = memfd_create("cfi", MFD_CLOEXEC);
    ck_assert_int_eq(write(fd, m.bytes, sizeof m.bytes), sizeof m.bytes);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct elf_file *file;
    ck_assert_int_eq(elf_file_open(&file, path, NULL), 0);
    close(fd);
    struct cfi *cfi = cfi_open(file);
    struct rule rule;
    struct addr_range function;
    bool ret = cfi_find(cfi, CODE + 4, 0, &rule, &function) == 0;
    if (ret)
        rule_release(&rule);
    cfi_free(cfi);
    elf_file_free(file);
    return ret;
}

static bool is_used_behind(const char *name, uint64_t flags)
{
    return is_used_behind_bytes(name, flags, padding, sizeof padding);
}

START_TEST(the_one_debug_frame_is_used)
{
    ck_assert(is_used_behind(NULL, 0));
    ck_assert(is_used_behind(".shstrtab", 0));
}
END_TEST

START_TEST(none_of_several_is_used)
{
    ck_assert(!is_used_behind(".debug_frame", 0));
    ck_assert(!is_used_behind(".debug_frame", SHF_GROUP));
    ck_assert(!is_used_behind(".debug_frame", SHF_COMPRESSED));
    ck_assert(!is_used_behind(".zdebug_frame", 0));
    ck_assert(!is_used_behind(".debug_frame.dwo", 0));
    ck_assert(!is_used_behind(".gnu.debuglto_.debug_frame", 0));
}
END_TEST

/* With .debug_frame libdw unpacks all there is. */
START_TEST(no_file_is_unpacked_that_claims_to_be_huge)
{
    Elf64_Chdr packed = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1U << 20, .ch_addralign = 1};
    ck_assert(is_used_behind_bytes(".debug_info", SHF_COMPRESSED, &packed, sizeof packed));
    packed.ch_size = UINT64_C(1) << 40;
    ck_assert(!is_used_behind_bytes(".debug_info", SHF_COMPRESSED, &packed, sizeof packed));
}
END_TEST

CHECK_MAIN("cfi", 5, the_one_debug_frame_is_used, none_of_several_is_used,
           no_file_is_unpacked_that_claims_to_be_huge)
