/* Call frame information that libdw must not see, and what it may see: all that this machine's
 * own libraries have. */
#include "unwinder/cfi_check.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"
#include "unwinder/eh_frame.h"

static uint8_t bytes[1 << 18];
static size_t at;

static void put(const void *from, size_t len)
{
    ck_assert_uint_le(at + len, sizeof bytes);
    if (len)
        memcpy(bytes + at, from, len);
    at += len;
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_u64(uint64_t value)
{
    put(&value, sizeof value);
}

/* Writes the length of the entry at START, and a terminator behind it, which the next entry
 * replaces. */
static void end_entry(size_t start)
{
    uint32_t len = (uint32_t)(at - start - 4);
    memcpy(bytes + start, &len, sizeof len);
    memset(bytes + at, 0, 4);
}

static size_t put_cie(const char *augmentation, const void *data, size_t data_bytes,
                      const void *program, size_t program_bytes)
{
    size_t start = at;
    put_u32(0);
    put_u32(0);
    put("\1", 1);
    put(augmentation, strlen(augmentation) + 1);
    put("\1\x78\x10", 3);
    put(data, data_bytes);
    put(program, program_bytes);
    end_entry(start);
    return start;
}

static size_t put_usual_cie(void)
{
    at = 0;
    return put_cie("zR", "\1\x1b", 2, "\x0c\7\10\x90\1", 5);
}

/* BODY follows two addresses of 4 bytes. */
static size_t put_fde(size_t cie, const void *body, size_t body_bytes)
{
    size_t start = at;
    put_u32(0);
    put_u32((uint32_t)(at - cie));
    put_u64(0x1000);
    put(body, body_bytes);
    end_entry(start);
    return start;
}

static bool check_function(size_t fde)
{
    struct cfi_section s = {.bytes = bytes, .len = at + 4, .is_eh = true};
    bool ret = cfi_check_function(&s, fde);
    ck_assert_int_eq(cfi_check_all(&s), ret); /* it is the only one */
    cfi_section_release(&s);
    return ret;
}

/* PROGRAM begins with the length of augmentation data. */
static bool check_program(const void *program, size_t len)
{
    return check_function(put_fde(put_usual_cie(), program, len));
}

#define PROGRAM(text)                                                                              \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
struct program {
    const char *bytes;
    size_t len;
};

START_TEST(usual_programs)
{
    static const struct program programs[] = {
        PROGRAM("\0\x41\x0e\x10\x86\2\x43\x0d\6\x02\x50\x0c\7\10"),
        PROGRAM("\4abcd\x0a\xc6\x0b\0\0\0"),             /* augmentation data; a state */
        PROGRAM("\0\x0f\3\x77\x08\6\x10\x10\2\x76\x78"), /* expressions */
        PROGRAM("\0\x16\7\3\x77\xa0\1"),
        PROGRAM("\0\x01\1\2\3\4\3\1\2\4\1\2\3\4\x1d\1\2\3\4\5\6\7\10"), /* addresses */
        PROGRAM("\0\7\x91\1\x2e\x10"),                                  /* register 145 */
        PROGRAM("\0"),
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        ck_assert_msg(check_program(programs[i].bytes, programs[i].len), "program %zu", i);
}
END_TEST

START_TEST(programs_that_cost_or_lead_out)
{
    static const struct program programs[] = {
        PROGRAM("\0\5\xff\xff\xff\x7f\1"), /* 2 GB of registers */
        PROGRAM("\0\7\x80\2"),             /* the first register too many */
        PROGRAM("\0\x10\x80\2\1\x30"),
        PROGRAM("\0\x02"), /* operands that are missing */
        PROGRAM("\0\3\1"),
        PROGRAM("\0\4\1\2\3"),
        PROGRAM("\0\x0c\7"),
        PROGRAM("\0\x86"),
        PROGRAM("\0\1\1\2\3"),
        PROGRAM("\0\x0e\x80"),
        PROGRAM("\0\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1"), /* too long a number */
        PROGRAM("\0\x0f\7\x77\x08"),                       /* an expression past the end */
        PROGRAM("\0\x3f"),                                 /* no instruction */
        PROGRAM("\5abcd"),                                 /* augmentation past the end */
        PROGRAM("\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), /* and round to the beginning */
        PROGRAM(""),
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        ck_assert_msg(!check_program(programs[i].bytes, programs[i].len), "program %zu", i);
}
END_TEST

START_TEST(programs_without_end)
{
    enum { LONG = 1 << 17, STATES = 65 };
    char *program = calloc(1, LONG);
    ck_assert_ptr_nonnull(program);
    ck_assert(check_program(program, 1 << 16));
    ck_assert(!check_program(program, LONG));
    memset(program + 1, DW_CFA_remember_state, STATES);
    ck_assert(check_program(program, STATES));
    ck_assert(!check_program(program, 1 + STATES));
    for (size_t i = 1; i < 1 << 16; i++) /* one after the other */
        program[i] = i % 2 ? DW_CFA_remember_state : DW_CFA_restore_state;
    ck_assert(check_program(program, 1 << 16));
    free(program);
}
END_TEST

static bool check_cie(const char *augmentation, const void *data, size_t data_bytes,
                      const void *program, size_t program_bytes)
{
    static const uint8_t nothing[16];
    at = 0;
    size_t cie = put_cie(augmentation, data, data_bytes, program, program_bytes);
    return check_function(put_fde(cie, nothing, sizeof nothing));
}

START_TEST(initial_states)
{
    static const char many[513] = "";
    ck_assert(check_cie("", "", 0, "", 0));
    ck_assert(check_cie("zPLR", "\7\x9b\1\2\3\4\x1b\x1b", 8, "", 0));
    ck_assert(check_cie("zPR", "\2\xff\x1b", 3, "", 0)); /* no routine */
    ck_assert(check_cie("zRS", "\1\x1b", 2, many, 512));
    ck_assert(!check_cie("zR", "\1\x1b", 2, many, 513));
    ck_assert(!check_cie("zR", "\1\x1b", 2, "\5\xff\xff\xff\x7f\1", 6));
    ck_assert(!check_cie("zRRRRRRRRRRRR", "\1\x1b", 2, "", 0));
    ck_assert(!check_cie("zR", "\x7f\x1b", 2, "", 0));
    ck_assert(!check_cie("zR", "\1\x01", 2, "", 0)); /* LEB128, aligned, indirect, none */
    ck_assert(!check_cie("zR", "\1\x50", 2, "", 0));
    ck_assert(!check_cie("zR", "\1\x9b", 2, "", 0));
    ck_assert(!check_cie("zR", "\1\xff", 2, "", 0));
    ck_assert(!check_cie("zPR", "\2\x01\x1b", 3, "", 0));
    ck_assert(!check_cie("zX", "\0", 1, "", 0));
    ck_assert(!check_cie("eh", "\0\0\0\0\0\0\0\0", 8, "", 0));
    ck_assert(!check_cie("R", "\x1b", 1, "", 0));
}
END_TEST

START_TEST(entries_out_of_bounds)
{
    size_t cie = put_usual_cie(), fde = put_fde(cie, "\0\0\0", 3);
    /* The fourth is the entry itself, which is no CIE. */
    const uint32_t bad_cies[] = {1, 3, UINT32_MAX, 4, (uint32_t)at};
    const uint32_t bad_lengths[] = {0, 3, 11, UINT32_MAX, UINT32_MAX - 1, 4096};
    struct cfi_section s = {.bytes = bytes, .len = at, .is_eh = true};
    ck_assert(cfi_check_function(&s, fde));
    ck_assert(!cfi_check_function(&s, cie));
    const uint64_t outside[] = {at - 3, at, at + 1, UINT64_MAX, UINT64_MAX - 3};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        ck_assert(!cfi_check_function(&s, outside[i]));
    for (size_t i = 0; i < sizeof bad_lengths / sizeof *bad_lengths; i++) {
        memcpy(bytes + fde, &bad_lengths[i], 4);
        ck_assert_msg(!cfi_check_function(&s, fde), "length %u", bad_lengths[i]);
    }
    memcpy(bytes + fde, &(uint32_t){15}, 4);
    for (size_t i = 0; i < sizeof bad_cies / sizeof *bad_cies; i++) {
        memcpy(bytes + fde + 4, &bad_cies[i], 4);
        ck_assert_msg(!cfi_check_function(&s, fde), "CIE %u", bad_cies[i]);
    }
    cfi_section_release(&s);
}
END_TEST

/* The same bytes are augmentation data or an instruction, so that an expression is a value or a
 * place. */
START_TEST(an_expression_in_two_ways)
{
    size_t fde = put_fde(put_usual_cie(), "\1\x16\x0f\2\x77\x08", 6);
    struct cfi_section s = {.bytes = bytes, .len = at + 4, .is_eh = true};
    ck_assert(cfi_check_function(&s, fde));
    bytes[fde + 16] = 0;
    ck_assert(!cfi_check_function(&s, fde));
    cfi_section_release(&s);
    ck_assert(cfi_check_function(&s, fde));
    bytes[fde + 16] = 1;
    ck_assert(!cfi_check_function(&s, fde));
    cfi_section_release(&s);
}
END_TEST

/* As in the dynamic linker, whose last function is the PLT. */
START_TEST(an_expression_at_the_end_of_the_section)
{
    size_t fde = put_fde(put_usual_cie(), "\0\x0f\3\x77\x08\x06", 6);
    struct cfi_section s = {.bytes = bytes, .len = at, .is_eh = true};
    ck_assert(cfi_check_function(&s, fde));
    bytes[at - 1] = DW_OP_plus_uconst; /* of what? */
    ck_assert(!cfi_check_function(&s, fde));
    s.len += 2;
    ck_assert(cfi_check_function(&s, fde));
    cfi_section_release(&s);
}
END_TEST

START_TEST(sections_without_end)
{
    static const uint8_t start[8];
    struct cfi_section s = {.bytes = start, .len = SIZE_MAX / 2, .is_eh = true};
    ck_assert(!cfi_check_all(&s)); /* and does not look */
}
END_TEST

START_TEST(debug_frame)
{
    at = 0;
    put_u32(0);
    put_u32(UINT32_MAX);
    put("\4\0\10\0\1\x78\x10\x0c\7\10\x90\1", 12);
    end_entry(0);
    size_t fde = at;
    put_u32(0);
    put_u32(0);
    put_u64(0x1000);
    put_u64(16);
    put("\x41\x0e\x10", 3);
    end_entry(fde);
    struct cfi_section s = {.bytes = bytes, .len = at};
    ck_assert(cfi_check_all(&s));
    bytes[at - 3] = 5;
    bytes[at - 2] = 0xff;
    ck_assert(!cfi_check_all(&s));
    cfi_section_release(&s);
}
END_TEST

/* ---- real ones ---- */

static void check_library(const char *path)
{
    struct elf_file *f;
    struct eh_frame e;
    ck_assert_int_eq(elf_file_open(&f, path, NULL), 0);
    eh_frame_init(&e, elf_file_elf(f));
    ck_assert_int_eq(e.ask, EH_FRAME_BY_SEARCH);
    for (size_t i = 0; i < e.n_search; i++) {
        int32_t start;
        memcpy(&start, e.search + 8 * i, sizeof start);
        uint64_t addr = e.search_base + (uint64_t)(int64_t)start;
        ck_assert_msg(eh_frame_may_ask(&e, addr), "%s: %#lx", path, addr);
        ck_assert_uint_eq(eh_frame_function(&e, addr).start, addr);
    }
    printf("# %s: %zu functions\n", path, e.n_search);
    ck_assert(e.n_search > 100);
    ck_assert(!eh_frame_may_ask(&e, 0));
    ck_assert(cfi_check_all(&e.section));
    eh_frame_release(&e);
    elf_file_free(f);
}

START_TEST(libraries_may_be_read)
{
    void *const known[] = {(void *)(uintptr_t)&abort, (void *)(uintptr_t)&gelf_getehdr,
                           (void *)(uintptr_t)&check_library};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Dl_info library;
        ck_assert_int_ne(dladdr(known[i], &library), 0);
        check_library(library.dli_fname);
    }
}
END_TEST

CHECK_MAIN("cfi_check", 30, usual_programs, programs_that_cost_or_lead_out, programs_without_end,
           initial_states, entries_out_of_bounds, an_expression_in_two_ways,
           an_expression_at_the_end_of_the_section, sections_without_end, debug_frame,
           libraries_may_be_read)
