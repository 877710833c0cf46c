#include "unwinder/expression.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "tests/support/check_main.h"

static const uint64_t stack_words[] = {0x1111, 0x2222, 0x3333};
enum { STACK_AT = 0x7000 };

static int run(const void *bytes, size_t n, uint32_t known, uint64_t *ret)
{
    struct stack_view view = {
        .bytes = (const uint8_t *)stack_words, .start = STACK_AT, .len = sizeof stack_words};
    const struct regs regs = {.r[X86_RSP] = STACK_AT, .r[X86_PC] = 0x40100b, .known = known};
    const struct expression e = {.bytes = bytes, .n = n, .bias = 0x100, .on_cfa = true};
    const struct expression_input in = {.regs = &regs, .view = &view, .cfa = STACK_AT + 16};
    return expression_run(&e, &in, ret);
}

enum { ALL = (1 << X86_COUNT) - 1 };

struct expression_case {
    uint8_t bytes[20];
    size_t n;
    int code;
    uint64_t value;
};
#define OPS(...) {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define LIT(n)   (DW_OP_lit0 + (n))
#define MINUS_9  DW_OP_const1s, 0xf7
static const struct expression_case cases[] = {
    {OPS(LIT(5), LIT(3), DW_OP_minus), 0, 2},
    {OPS(LIT(5), LIT(3), DW_OP_swap, DW_OP_minus), 0, UINT64_MAX - 1},
    {OPS(LIT(1), LIT(2), LIT(3), DW_OP_rot, DW_OP_drop), 0, 1},
    {OPS(LIT(7), LIT(8), DW_OP_over), 0, 7},
    {OPS(LIT(7), LIT(8), DW_OP_dup, DW_OP_plus), 0, 16},
    {OPS(LIT(7), LIT(8), LIT(9), DW_OP_pick, 2), 0, 7},
    {OPS(MINUS_9, LIT(2), DW_OP_div), 0, (uint64_t)-4},
    {OPS(LIT(9), LIT(5), DW_OP_mod), 0, 4},
    {OPS(MINUS_9, LIT(2), DW_OP_shra), 0, (uint64_t)-3},
    {OPS(LIT(9), LIT(2), DW_OP_shr), 0, 2},
    {OPS(MINUS_9, DW_OP_abs), 0, 9},
    {OPS(MINUS_9, DW_OP_neg), 0, 9},
    {OPS(LIT(1), DW_OP_constu, 64, DW_OP_shl), 0, 0},
    {OPS(DW_OP_breg7, 8, DW_OP_deref), 0, 0x2222},
    {OPS(DW_OP_deref_size, 1), 0, 0x33}, /* at the CFA, which the stack begins with */
    {OPS(DW_OP_nop), 0, STACK_AT + 16},
    {OPS(LIT(6), LIT(7), DW_OP_mul), 0, 42},
    {OPS(LIT(6), LIT(3), DW_OP_or), 0, 7},
    {OPS(LIT(6), LIT(3), DW_OP_xor), 0, 5},
    {OPS(LIT(6), LIT(6), DW_OP_eq), 0, 1},
    {OPS(LIT(6), LIT(6), DW_OP_ne), 0, 0},
    {OPS(MINUS_9, LIT(6), DW_OP_lt), 0, 1},
    {OPS(MINUS_9, LIT(6), DW_OP_le), 0, 1},
    {OPS(MINUS_9, LIT(6), DW_OP_gt), 0, 0},
    {OPS(LIT(6), DW_OP_not), 0, UINT64_MAX - 6},
    /* numbers of all kinds */
    {OPS(DW_OP_const1u, 0xf7), 0, 0xf7},
    {OPS(DW_OP_const2u, 0xf7, 0xff), 0, 0xfff7},
    {OPS(DW_OP_const2s, 0xf7, 0xff), 0, (uint64_t)-9},
    {OPS(DW_OP_const4u, 1, 2, 3, 0x84), 0, 0x84030201},
    {OPS(DW_OP_const4s, 1, 2, 3, 0x84), 0, 0xffffffff84030201},
    {OPS(DW_OP_const8u, 1, 2, 3, 4, 5, 6, 7, 8), 0, 0x807060504030201},
    {OPS(DW_OP_constu, 0xe5, 0x8e, 0x26), 0, 624485},
    {OPS(DW_OP_consts, 0xc0, 0xbb, 0x78), 0, (uint64_t)-123456},
    {OPS(DW_OP_plus_uconst, 0x80, 1), 0, STACK_AT + 16 + 128},
    {OPS(DW_OP_addr, 1, 2, 0, 0, 0, 0, 0, 0), 0, 0x201 + 0x100},
    {OPS(DW_OP_breg7, 0x78), 0, STACK_AT - 8},
    {OPS(DW_OP_bregx, 7, 0x78), 0, STACK_AT - 8},
    /* The PLT's CFA at the 11th byte of a stub. */
    {OPS(DW_OP_breg7, 8, DW_OP_breg16, 0, LIT(15), DW_OP_and, LIT(11), DW_OP_ge, LIT(3), DW_OP_shl,
         DW_OP_plus),
     0, STACK_AT + 16},
    /* over one operation or not, back, and to the end */
    {OPS(LIT(4), LIT(1), DW_OP_bra, 1, 0, LIT(9)), 0, 4},
    {OPS(LIT(4), LIT(0), DW_OP_bra, 1, 0, LIT(9)), 0, 9},
    {OPS(LIT(2), LIT(1), DW_OP_minus, DW_OP_dup, DW_OP_bra, 0xfa, 0xff, DW_OP_drop), 0,
     STACK_AT + 16},
    {OPS(LIT(4), DW_OP_skip, 0, 0), 0, 4},
    /* For ever, and out. */
    {OPS(DW_OP_skip, 0xfd, 0xff), -EPROTO, 0},
    {OPS(DW_OP_skip, 0xfc, 0xff), -EPROTO, 0},
    {OPS(DW_OP_skip, 1, 0), -EPROTO, 0},
    {OPS(DW_OP_drop, DW_OP_dup), -EPROTO, 0},
    {OPS(DW_OP_swap), -EPROTO, 0},
    {OPS(LIT(2), DW_OP_rot), -EPROTO, 0},
    {OPS(DW_OP_drop, DW_OP_deref), -EPROTO, 0},
    {OPS(DW_OP_breg7, 0, DW_OP_deref_size, 9), -EPROTO, 0},
    {OPS(DW_OP_plus), -EPROTO, 0},
    {OPS(LIT(1), LIT(0), DW_OP_div), -EPROTO, 0},
    {OPS(DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80, DW_OP_const1s, 0xff, DW_OP_div), -EPROTO, 0},
    {OPS(DW_OP_pick, 1), -EPROTO, 0},
    {OPS(DW_OP_breg7, 17, DW_OP_deref), -EFAULT, 0},
    {OPS(DW_OP_const1s, 0xff, DW_OP_deref), -EFAULT, 0},
    {OPS(DW_OP_bregx, 0x90, 3, 0), -EPROTO, 0},
    {OPS(LIT(0), DW_OP_xderef), -EPROTO, 0},
    {OPS(DW_OP_call_frame_cfa), -EPROTO, 0},
    {OPS(DW_OP_drop), -EPROTO, 0},
    /* numbers that are missing, or too long */
    {OPS(DW_OP_const1u), -EPROTO, 0},
    {OPS(DW_OP_const8s, 1, 2, 3, 4, 5, 6, 7), -EPROTO, 0},
    {OPS(DW_OP_constu, 0x80), -EPROTO, 0},
    {OPS(DW_OP_breg7), -EPROTO, 0},
    {OPS(DW_OP_bra, 0), -EPROTO, 0},
    {OPS(DW_OP_consts, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1), -EPROTO, 0},
};

START_TEST(expression_gives)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        int r = run(cases[i].bytes, cases[i].n, ALL, &value);
        ck_assert_msg(r == cases[i].code && (r < 0 || value == cases[i].value),
                      "case %zu: code %d, value %#lx", i, r, (unsigned long)value);
    }
}
END_TEST

START_TEST(expression_asks_for_unknown_registers)
{
    const uint8_t ops[] = {DW_OP_breg6, 0};
    uint64_t value;
    ck_assert_int_eq(run(ops, sizeof ops, 1 << X86_RSP, &value), -ENODATA);
}
END_TEST

START_TEST(expression_stack_is_bounded)
{
    uint8_t ops[100];
    uint64_t value;
    memset(ops, DW_OP_lit1, sizeof ops);
    ck_assert_int_eq(run(ops, sizeof ops, ALL, &value), -EPROTO);
}
END_TEST

CHECK_MAIN("expression", 5, expression_gives, expression_asks_for_unknown_registers,
           expression_stack_is_bounded)
