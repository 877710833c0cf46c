/* Which section of a file libdw may take for .debug_frame: one that was looked through, or none. */
#include "unwinder/cfi.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/check_main.h"
#include "tests/support/elf_maker.h"

static const uint8_t padding[16];
/* CFA = rsp + 8, return address below it; an FDE for ELF_MAKER_CODE. */
static const uint8_t sound[] = {
    12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, /* CIE */
    20, 0, 0, 0, 0,    0,    0,    0,    0, 1, 0, 0,    0,  0,    0, 0, 0, 1, 0, 0, 0, 0, 0, 0};

/* Does a rule come from .debug_frame if a section NAME with FLAGS and BYTES lies before it?
 * NAME may be NULL: no section does. */
static bool is_used_behind_bytes(const char *name, uint64_t flags, const void *bytes, size_t len)
{
    struct elf_maker m = {0};
    char path[64];
    if (name)
        elf_maker_add(&m, name, flags, bytes, len);
    elf_maker_add(&m, ".debug_frame", 0, sound, sizeof sound);
    int fd = memfd_create("cfi", MFD_CLOEXEC);
    elf_maker_write(&m, fd);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct elf_file *file;
    ck_assert_int_eq(elf_file_open(&file, path, NULL), 0);
    close(fd);
    struct cfi *cfi = cfi_open(file);
    struct rule rule;
    struct addr_range function;
    bool ret = cfi_find(cfi, ELF_MAKER_CODE + 4, &rule, &function) == 0;
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
