/* Which sections of a file are used, and how a function is found in them. */
#include "unwinder/cfi.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/check_main.h"
#include "tests/support/elf_maker.h"

static const uint8_t padding[16];
/* CFA = rsp + 8, return address below it; an FDE for ELF_MAKER_CODE. */
static const uint8_t sound[] = {
    12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, /* CIE */
    20, 0, 0, 0, 0,    0,    0,    0,    0, 1, 0, 0,    0,  0,    0, 0, 0, 1, 0, 0, 0, 0, 0, 0};

/* Does a rule come from the file that M makes? */
static bool is_used_in(struct elf_maker *m)
{
    char path[64];
    int fd = memfd_create("cfi", MFD_CLOEXEC);
    elf_maker_write(m, fd);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct elf_file *file;
    ck_assert_int_eq(elf_file_open(&file, path, NULL), 0);
    close(fd);
    struct cfi *cfi = cfi_open(file);
    struct rule rule;
    struct addr_range function;
    bool ret = cfi_find(cfi, ELF_MAKER_CODE + 4, &rule, &function) == 0;
    if (ret) {
        ck_assert_uint_eq(function.start, ELF_MAKER_CODE);
        ck_assert_uint_eq(function.len, ELF_MAKER_CODE_BYTES);
        ck_assert_int_eq(rule.cfa.offset, 8);
        ck_assert_int_lt(cfi_find(cfi, ELF_MAKER_CODE - 1, &rule, &function), 0);
        ck_assert_int_lt(cfi_find(cfi, ELF_MAKER_CODE + ELF_MAKER_CODE_BYTES, &rule, &function), 0);
    }
    cfi_free(cfi);
    elf_file_free(file);
    return ret;
}

/* Does one come from .debug_frame if a section NAME with FLAGS lies before it? */
static bool is_used_behind(const char *name, uint64_t flags)
{
    struct elf_maker m = {0};
    elf_maker_add(&m, name, flags, padding, sizeof padding);
    elf_maker_add(&m, ".debug_frame", 0, sound, sizeof sound);
    return is_used_in(&m);
}

START_TEST(debug_frame_is_used)
{
    struct elf_maker m = {0};
    elf_maker_add(&m, ".debug_frame", 0, sound, sizeof sound);
    ck_assert(is_used_in(&m));
    ck_assert(is_used_behind(".shstrtab", 0));
    ck_assert(is_used_behind(".zdebug_frame", 0));
    ck_assert(is_used_behind(".debug_frame.dwo", 0));
    ck_assert(is_used_behind(".eh_frame", 0));
}
END_TEST

START_TEST(the_first_of_several_counts)
{
    ck_assert(!is_used_behind(".debug_frame", 0));
    ck_assert(!is_used_behind(".debug_frame", SHF_COMPRESSED));
}
END_TEST

/* A .debug_frame that says to be of CLAIMED bytes. */
static bool is_unpacked(uint64_t claimed)
{
    struct {
        Elf64_Chdr head;
        uint8_t bytes[128];
    } packed = {.head = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = claimed, .ch_addralign = 1}};
    uLongf len = sizeof packed.bytes;
    struct elf_maker m = {0};
    ck_assert_int_eq(compress(packed.bytes, &len, sound, sizeof sound), Z_OK);
    elf_maker_add(&m, ".debug_frame", SHF_COMPRESSED, &packed, sizeof packed.head + len);
    return is_used_in(&m);
}

START_TEST(a_packed_section_is_used_unless_it_claims_to_be_huge)
{
    ck_assert(is_unpacked(sizeof sound));
    ck_assert(!is_unpacked(UINT64_C(1) << 40));
    ck_assert(!is_unpacked(UINT64_C(1) << 27));
}
END_TEST

/* The list that is made where there is no search table: out of order, with what is no FDE between,
 * and up to the terminator. */
START_TEST(functions_are_listed_in_any_order)
{
    uint8_t bytes[256];
    size_t len = 0;
    const size_t cie_bytes = 16, fde_bytes = sizeof sound - cie_bytes;
    static const uint64_t starts[] = {0x900, ELF_MAKER_CODE, 0x500};
    memcpy(bytes, sound, cie_bytes);
    len = cie_bytes;
    for (size_t i = 0; i < 3; i++) {
        memcpy(bytes + len, "\4\0\0\0\1\2\3\4", 8); /* no entry */
        memcpy(bytes + len + 8, sound + cie_bytes, fde_bytes);
        memcpy(bytes + len + 16, &starts[i], sizeof starts[i]);
        len += 8 + fde_bytes;
    }
    struct elf_maker m = {0};
    elf_maker_add(&m, ".debug_frame", 0, bytes, len);
    ck_assert(is_used_in(&m));
    memset(bytes + cie_bytes, 0, 4); /* a terminator */
    m = (struct elf_maker){0};
    elf_maker_add(&m, ".debug_frame", 0, bytes, len);
    ck_assert(!is_used_in(&m));
}
END_TEST

CHECK_MAIN("cfi", 5, debug_frame_is_used, the_first_of_several_counts,
           a_packed_section_is_used_unless_it_claims_to_be_huge, functions_are_listed_in_any_order)
