/* Entries of call frame information and their instructions: what they say, and what is refused. */
#include "unwinder/cfi_program.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "tests/support/check_main.h"

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

/* Writes the length of the entry at START. */
static void end_entry(size_t start)
{
    uint32_t len = (uint32_t)(at - start - 4);
    memcpy(bytes + start, &len, sizeof len);
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
    put_u32(0x1000);
    put_u32(0x100);
    put(body, body_bytes);
    end_entry(start);
    return start;
}

/* The rule at the byte AT_BYTE of the function whose FDE lies at OFFSET. */
static int execute(bool is_eh, uint64_t offset, uint64_t at_byte, struct rule *ret)
{
    const struct cfi_section s = {.bytes = bytes, .len = at, .addr = 0x5000, .is_eh = is_eh};
    struct cfi_fde fde;
    if (!cfi_read_fde(&s, offset, &fde))
        return -EINVAL;
    return cfi_execute(&s, &fde, fde.function.start + at_byte, ret);
}

/* BODY begins with the length of augmentation data. */
static int execute_body(const void *body, size_t len, uint64_t at_byte, struct rule *ret)
{
    return execute(true, put_fde(put_usual_cie(), body, len), at_byte, ret);
}

struct text {
    const char *bytes;
    size_t len;
};
#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

struct row_case {
    struct text body;
    uint64_t at;
    struct value_rule cfa;
    unsigned reg;
    struct value_rule value;
};
#define RSP(offset)                                                                                \
    {                                                                                              \
        VALUE_REG, X86_RSP, 0, offset                                                              \
    }
#define SAME                                                                                       \
    {                                                                                              \
        .kind = VALUE_SAME                                                                         \
    }
#define UNDEFINED                                                                                  \
    {                                                                                              \
        .kind = VALUE_UNDEFINED                                                                    \
    }
static const struct row_case rows[] = {
    {TEXT("\0"), 0, RSP(8), X86_PC, {VALUE_AT_CFA, 0, 0, -8}},
    {TEXT("\0"), 0, RSP(8), X86_RSP, {VALUE_CFA, 0, 0, 0}},
    {TEXT("\0"), 0, RSP(8), X86_RBX, SAME},
    {TEXT("\0"), 0, RSP(8), X86_RAX, UNDEFINED},
    /* push rbp; mov rbp, rsp; …; leave */
    {TEXT("\0\x41\x0e\x10\x86\2\x43\x0d\6\2\x50\x0c\7\10"), 0, RSP(8), X86_RBP, SAME},
    {TEXT("\0\x41\x0e\x10\x86\2\x43\x0d\6\2\x50\x0c\7\10"),
     1,
     RSP(16),
     X86_RBP,
     {VALUE_AT_CFA, 0, 0, -16}},
    {TEXT("\0\x41\x0e\x10\x86\2\x43\x0d\6\2\x50\x0c\7\10"),
     83,
     {VALUE_REG, X86_RBP, 0, 16},
     X86_RBP,
     {VALUE_AT_CFA, 0, 0, -16}},
    {TEXT("\0\x41\x0e\x10\x86\2\x43\x0d\6\2\x50\x0c\7\10"),
     84,
     RSP(8),
     X86_RBP,
     {VALUE_AT_CFA, 0, 0, -16}},
    /* all ways to advance, and a place: pc-relative as the function's start */
    {TEXT("\0\2\1\3\1\0\4\1\0\0\0\x1d\1\0\0\0\0\0\0\0\x0e\x20"), 3, RSP(8), X86_RBP, SAME},
    {TEXT("\0\2\1\3\1\0\4\1\0\0\0\x1d\1\0\0\0\0\0\0\0\x0e\x20"), 4, RSP(32), X86_RBP, SAME},
    {TEXT("\0\1\xf7\x0f\0\0\x0e\x20"), 0, RSP(8), X86_RBP, SAME},
    {TEXT("\0\1\xf7\x0f\0\0\x0e\x20"), 1, RSP(32), X86_RBP, SAME},
    /* a state; augmentation data before it */
    {TEXT("\4abcd\x0a\xc6\x86\2\x0e\x40\x0b\0\0"), 0, RSP(8), X86_RBP, SAME},
    {TEXT("\0\x86\2\x41\xc6"), 0, RSP(8), X86_RBP, {VALUE_AT_CFA, 0, 0, -16}},
    {TEXT("\0\x86\2\x41\xc6"), 1, RSP(8), X86_RBP, SAME},
    {TEXT("\0\x86\2\x41\6\6"), 1, RSP(8), X86_RBP, SAME},
    {TEXT("\0\x90\2\x41\xd0"), 1, RSP(8), X86_PC, {VALUE_AT_CFA, 0, 0, -8}},
    /* rules of registers */
    {TEXT("\0\5\6\2"), 0, RSP(8), X86_RBP, {VALUE_AT_CFA, 0, 0, -16}},
    {TEXT("\0\x11\6\x7e"), 0, RSP(8), X86_RBP, {VALUE_AT_CFA, 0, 0, 16}},
    {TEXT("\0\x2f\6\2"), 0, RSP(8), X86_RBP, {VALUE_AT_CFA, 0, 0, 16}},
    {TEXT("\0\x14\6\2"), 0, RSP(8), X86_RBP, {VALUE_CFA, 0, 0, -16}},
    {TEXT("\0\x15\6\x7e"), 0, RSP(8), X86_RBP, {VALUE_CFA, 0, 0, 16}},
    {TEXT("\0\x14\7\1"), 0, RSP(8), X86_RSP, {VALUE_CFA, 0, 0, -8}},
    {TEXT("\0\7\6"), 0, RSP(8), X86_RBP, UNDEFINED},
    {TEXT("\0\7\3"), 0, RSP(8), X86_RBX, UNDEFINED},
    {TEXT("\0\10\0"), 0, RSP(8), X86_RAX, SAME},
    {TEXT("\0\x09\x10\5"), 0, RSP(8), X86_PC, {VALUE_REG, X86_RDI, 0, 0}},
    {TEXT("\0\x2e\x10"), 0, RSP(8), X86_RBP, SAME},
    /* the CFA */
    {TEXT("\0\x12\6\x7e"), 0, {VALUE_REG, X86_RBP, 0, 16}, X86_RBP, SAME},
    {TEXT("\0\x13\x7e"), 0, RSP(16), X86_RBP, SAME},
    {TEXT("\0\x0f\1\x50\x0d\6"), 0, {VALUE_REG, X86_RBP, 0, 8}, X86_RBP, SAME},
    {TEXT("\0\x0f\1\x50\x0e\x10"), 0, RSP(16), X86_RBP, SAME},
    /* registers that are not kept, of which libdw once took 2 GB */
    {TEXT("\0\7\x91\1\x85\x80\x10"), 0, RSP(8), X86_RDI, {VALUE_AT_CFA, 0, 0, -16384}},
    {TEXT("\0\5\xff\xff\xff\x7f\1\x91\1"), 0, RSP(8), X86_RBP, SAME},
    /* expressions: the simple ones are rules of their own */
    {TEXT("\0\x0f\3\x76\x78\6"), 0, {VALUE_AT_REG, X86_RBP, 0, -8}, X86_RBP, SAME},
    {TEXT("\0\x0f\2\x7a\0"), 0, {VALUE_REG, 10, 0, 0}, X86_RBP, SAME},
    {TEXT("\0\x10\6\2\x76\0"), 0, RSP(8), X86_RBP, {VALUE_AT_REG, X86_RBP, 0, 0}},
    {TEXT("\0\x16\7\3\x77\xa0\1"), 0, RSP(8), X86_RSP, {VALUE_REG, X86_RSP, 0, 160}},
    {TEXT("\0\x16\7\3\x77\x10\6"), 0, RSP(8), X86_RSP, {VALUE_AT_REG, X86_RSP, 0, 16}},
    {TEXT("\0\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"),
     0,
     {VALUE_PLT, X86_RSP, 11, 8},
     X86_RBP,
     SAME},
};

static void assert_value(size_t i, const struct value_rule *got, const struct value_rule *want)
{
    ck_assert_msg(got->kind == want->kind && got->reg == want->reg && got->n == want->n &&
                      got->offset == want->offset,
                  "case %zu: kind %d reg %d n %d offset %d", i, got->kind, got->reg, got->n,
                  got->offset);
}

START_TEST(instructions_give)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row_case *c = &rows[i];
        struct rule rule;
        int r = execute_body(c->body.bytes, c->body.len, c->at, &rule);
        ck_assert_msg(r == 0, "case %zu: %d", i, r);
        assert_value(i, &rule.cfa, &c->cfa);
        assert_value(i, &rule.values[c->reg], &c->value);
        ck_assert(!rule.has_expressions);
        ck_assert_int_eq(rule.is_root, false);
    }
}
END_TEST

/* Their bytes stay where they are. */
START_TEST(other_expressions_are_kept)
{
    static const struct text bodies[] = {
        TEXT("\0\x0f\3\x77\x08\x23"),
        TEXT("\0\x10\6\3\x76\0\6"), /* an address that is read from memory */
        TEXT("\0\x16\6\4\x76\0\6\6"),
        TEXT("\0\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x1c"), /* not quite a PLT's */
        TEXT("\0\x0f\x0b\x76\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"),
        TEXT("\0\x0f\x0b\x77\x08\x80\0\x3f\x1a\x70\x2a\x33\x24\x22"),
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct rule rule;
        ck_assert_int_eq(execute_body(bodies[i].bytes, bodies[i].len, 0, &rule), 0);
        const struct value_rule *v =
            rule.cfa.kind == VALUE_EXPR ? &rule.cfa : &rule.values[X86_RBP];
        ck_assert(rule.has_expressions);
        ck_assert(v->kind == (i == 1 ? VALUE_AT_EXPR : VALUE_EXPR));
        ck_assert_uint_eq((size_t)v->offset + v->n, at);
        ck_assert_ptr_eq(rule.bytes, bytes);
    }
}
END_TEST

START_TEST(a_return_address_that_is_not_there_is_a_root)
{
    struct rule rule;
    ck_assert_int_eq(execute_body("\0\7\x10", 3, 0, &rule), 0);
    ck_assert(rule.is_root);
    ck_assert_int_eq(execute_body("\0\10\x10", 3, 0, &rule), 0);
    ck_assert(rule.is_root);
}
END_TEST

START_TEST(malformed_instructions)
{
    static const struct text bodies[] = {
        TEXT("\0\2"), /* operands that are missing */
        TEXT("\0\3\1"),
        TEXT("\0\4\1\2\3"),
        TEXT("\0\x0c\7"),
        TEXT("\0\x86"),
        TEXT("\0\1\1\2\3"),
        TEXT("\0\x0e\x80"),
        TEXT("\0\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\1"), /* too long a number */
        TEXT("\0\x0e\x80\x80\x80\x80\x8"), /* an offset of more than 31 bits */
        TEXT("\0\x86\x80\x80\x80\x80\2"),
        TEXT("\0\x0c\x11\10"), /* the CFA, and rbp, in registers that are not kept */
        TEXT("\0\x0d\x11"),
        TEXT("\0\x09\6\x11"),
        TEXT("\0\x0f\7\x77\x08"), /* expressions past the end, and of nothing */
        TEXT("\0\x0f\0"),
        TEXT("\0\x10\6\2\x76"),
        TEXT("\0\x0b"), /* no state */
        TEXT("\0\x3f"), /* no instruction, or of other machines */
        TEXT("\0\x2d"),
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct rule rule;
        int r = execute_body(bodies[i].bytes, bodies[i].len, 0, &rule);
        ck_assert_msg(r == -ENOENT, "body %zu: %d", i, r);
    }
    struct rule rule; /* what comes later does not matter */
    ck_assert_int_eq(execute_body("\0\x41\x3f", 3, 0, &rule), 0);
    ck_assert_int_eq(execute_body("\0\x41\x3f", 3, 1, &rule), -ENOENT);
}
END_TEST

START_TEST(a_cfa_is_needed)
{
    struct rule rule;
    at = 0;
    size_t cie = put_cie("zR", "\1\x1b", 2, "", 0);
    ck_assert_int_eq(execute(true, put_fde(cie, "\0\x86\2", 3), 0, &rule), -ENOENT);
    ck_assert_int_eq(execute(true, put_fde(cie, "\0\x0e\2", 3), 0, &rule), -ENOENT);
    ck_assert_int_eq(execute(true, put_fde(cie, "\0\x0c\7\x10", 4), 0, &rule), 0);
}
END_TEST

START_TEST(programs_without_end)
{
    enum { LONG = 1 << 17, STATES = 64 };
    struct rule rule;
    char *program = calloc(1, LONG);
    ck_assert_ptr_nonnull(program);
    ck_assert_int_eq(execute_body(program, 1 << 16, 0, &rule), 0);
    ck_assert_int_eq(execute_body(program, LONG, 0, &rule), -EINVAL);
    memset(program + 1, DW_CFA_remember_state, STATES + 1);
    ck_assert_int_eq(execute_body(program, 1 + STATES, 0, &rule), 0);
    ck_assert_int_eq(execute_body(program, 2 + STATES, 0, &rule), -ENOENT);
    for (size_t i = 1; i < 1 << 16; i++) /* one after the other */
        program[i] = i % 2 ? DW_CFA_remember_state : DW_CFA_restore_state;
    ck_assert_int_eq(execute_body(program, 1 << 16, 0, &rule), 0);
    memset(program, 0, LONG); /* an expression */
    memcpy(program, "\0\x0f\x80\x20", 4);
    ck_assert_int_eq(execute_body(program, 1 << 15, 0, &rule), 0);
    memcpy(program, "\0\x0f\x81\x20", 4);
    ck_assert_int_eq(execute_body(program, 1 << 15, 0, &rule), -ENOENT);
    free(program);
}
END_TEST

/* The FDE's program defines a CFA. */
static int execute_cie(const char *augmentation, const void *data, size_t data_bytes,
                       const void *program, size_t program_bytes)
{
    static const uint8_t body[16] = {0, DW_CFA_def_cfa, X86_RSP, 8};
    struct rule rule;
    at = 0;
    size_t cie = put_cie(augmentation, data, data_bytes, program, program_bytes);
    return execute(true, put_fde(cie, body, sizeof body), 0, &rule);
}

START_TEST(augmentations)
{
    static const char many[513] = "";
    ck_assert_int_eq(execute_cie("", "", 0, "", 0), -ENOENT); /* its addresses have 8 bytes */
    ck_assert_int_eq(execute_cie("zPLR", "\7\x9b\1\2\3\4\x1b\x1b", 8, "", 0), 0);
    ck_assert_int_eq(execute_cie("zPR", "\2\xff\x1b", 3, "", 0), 0); /* no routine */
    ck_assert_int_eq(execute_cie("zRS", "\1\x1b", 2, many, 512), 0);
    ck_assert_int_eq(execute_cie("zR", "\1\x03", 2, "", 0), 0);
    ck_assert_int_eq(execute_cie("zR", "\1\x0b", 2, "", 0), 0);
    ck_assert_int_eq(execute_cie("zR", "\1\x1b", 2, "\x3f", 1), -ENOENT);
    ck_assert_int_eq(execute_cie("zR", "\1\x1b", 2, many, 513), -EINVAL);
    ck_assert_int_eq(execute_cie("zRRRRRRRRRRRR", "\1\x1b", 2, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zRR", "\1\x1b", 2, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zR", "\x7f\x1b", 2, "", 0), -EINVAL);
    /* LEB128, data-relative, aligned, indirect, none */
    ck_assert_int_eq(execute_cie("zR", "\1\x01", 2, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zR", "\1\x33", 2, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zR", "\1\x50", 2, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zR", "\1\x9b", 2, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zR", "\1\xff", 2, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zPR", "\2\x01\x1b", 3, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("zX", "\0", 1, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("eh", "\0\0\0\0\0\0\0\0", 8, "", 0), -EINVAL);
    ck_assert_int_eq(execute_cie("R", "\x1b", 1, "", 0), -EINVAL);
}
END_TEST

START_TEST(signal_frames)
{
    struct rule rule;
    at = 0;
    size_t cie = put_cie("zRS", "\1\x1b", 2, "\x0c\7\10\x90\1", 5);
    ck_assert_int_eq(execute(true, put_fde(cie, "", 1), 0, &rule), 0);
    ck_assert(rule.is_signal);
    ck_assert_int_eq(execute_body("", 1, 0, &rule), 0);
    ck_assert(!rule.is_signal);
}
END_TEST

/* The address of the function that OFFSET describes. */
static struct addr_range function_of(bool is_eh, uint64_t offset)
{
    const struct cfi_section s = {.bytes = bytes, .len = at, .addr = 0x5000, .is_eh = is_eh};
    struct cfi_fde fde;
    ck_assert(cfi_read_fde(&s, offset, &fde));
    return fde.function;
}

START_TEST(addresses)
{
    struct addr_range f = function_of(true, put_fde(put_usual_cie(), "", 1));
    ck_assert_uint_eq(f.start, 0x5000 + at - 9 + 0x1000);
    ck_assert_uint_eq(f.len, 0x100);
    at = 0;
    size_t cie = put_cie("zR", "\1\x1b", 2, "", 0);
    size_t fde = put_fde(cie, "", 1);
    memcpy(bytes + fde + 8, "\0\0\xff\xff\0\0\xff\xff", 8);
    f = function_of(true, fde);
    ck_assert_uint_eq(f.start, 0x5000 + fde + 8 - 0x10000);
    ck_assert_uint_eq(f.len, 0xffff0000); /* a length has no sign */
    at = 0;
    cie = put_cie("zR", "\1\x03", 2, "", 0);
    f = function_of(true, put_fde(cie, "", 1));
    ck_assert_uint_eq(f.start, 0x1000);
    at = 0;
    cie = put_cie("zR", "\1\x02", 2, "", 0);
    f = function_of(true, put_fde(cie, "", 1));
    ck_assert_uint_eq(f.start, 0x1000);
    ck_assert_uint_eq(f.len, 0);
}
END_TEST

START_TEST(entries_out_of_bounds)
{
    size_t cie = put_usual_cie(), fde = put_fde(cie, "\0\0\0", 3);
    /* The fourth is the entry itself, which is no CIE. */
    const uint32_t bad_cies[] = {1, 3, UINT32_MAX, 4, (uint32_t)at};
    const uint32_t bad_lengths[] = {0, 3, 11, UINT32_MAX, UINT32_MAX - 1, 4096};
    struct rule rule;
    ck_assert_int_eq(execute(true, fde, 0, &rule), 0);
    ck_assert_int_eq(execute(true, cie, 0, &rule), -EINVAL);
    const uint64_t outside[] = {at - 3, at, at + 1, UINT64_MAX, UINT64_MAX - 3};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        ck_assert_int_eq(execute(true, outside[i], 0, &rule), -EINVAL);
    for (size_t i = 0; i < sizeof bad_lengths / sizeof *bad_lengths; i++) {
        memcpy(bytes + fde, &bad_lengths[i], 4);
        ck_assert_msg(execute(true, fde, 0, &rule) == -EINVAL, "length %u", bad_lengths[i]);
    }
    memcpy(bytes + fde, &(uint32_t){15}, 4);
    for (size_t i = 0; i < sizeof bad_cies / sizeof *bad_cies; i++) {
        memcpy(bytes + fde + 4, &bad_cies[i], 4);
        ck_assert_msg(execute(true, fde, 0, &rule) == -EINVAL, "CIE %u", bad_cies[i]);
    }
}
END_TEST

/* A CIE of VERSION and an FDE; what stands behind the version differs. */
static int execute_debug_frame(const char *head, size_t head_bytes)
{
    struct rule rule;
    at = 0;
    put_u32(0);
    put_u32(UINT32_MAX);
    put(head, head_bytes);
    put("\x0c\7\10\x90\1", 5);
    end_entry(0);
    size_t fde = at;
    put_u32(0);
    put_u32(0);
    put_u64(0x1000);
    put_u64(16);
    put("\x41\x0e\x10", 3);
    end_entry(fde);
    int r = execute(false, fde, 1, &rule);
    if (r == 0) {
        ck_assert_uint_eq(function_of(false, fde).start, 0x1000);
        ck_assert_uint_eq(function_of(false, fde).len, 16);
        ck_assert_int_eq(rule.cfa.offset, 16);
        ck_assert_int_eq(rule.values[X86_PC].offset, -8);
    }
    return r;
}

START_TEST(debug_frame)
{
    ck_assert_int_eq(execute_debug_frame("\1\0\1\x78\x10", 5), 0);
    ck_assert_int_eq(execute_debug_frame("\3\0\1\x78\x90\0", 6), 0);
    ck_assert_int_eq(execute_debug_frame("\4\0\10\0\1\x78\x10", 7), 0);
    ck_assert_int_eq(execute_debug_frame("\4\0\4\0\1\x78\x10", 7), -EINVAL); /* 32-bit addresses */
    ck_assert_int_eq(execute_debug_frame("\4\0\10\4\1\x78\x10", 7), -EINVAL);
    ck_assert_int_eq(execute_debug_frame("\2\0\1\x78\x10", 5), -EINVAL);
    ck_assert_int_eq(execute_debug_frame("\5\0\10\0\1\x78\x10", 7), -EINVAL);
}
END_TEST

CHECK_MAIN("cfi_program", 30, instructions_give, other_expressions_are_kept,
           a_return_address_that_is_not_there_is_a_root, malformed_instructions, a_cfa_is_needed,
           programs_without_end, augmentations, signal_frames, addresses, entries_out_of_bounds,
           debug_frame)
