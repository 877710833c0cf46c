#include "unwinder/expression.h"

#include <dwarf.h>
#include <errno.h>

#include "tests/support/check_main.h"

static const uint64_t stack_words[] = {0x1111, 0x2222, 0x3333};
enum { STACK_AT = 0x7000 };

static int run(const Dwarf_Op *ops, size_t n, uint32_t known, uint64_t *ret)
{
    struct stack_view view = {
        .bytes = (const uint8_t *)stack_words, .start = STACK_AT, .len = sizeof stack_words};
    const struct regs regs = {.r[X86_RSP] = STACK_AT, .r[X86_PC] = 0x40100b, .known = known};
    const struct expression_input in = {.regs = &regs, .view = &view, .cfa = STACK_AT + 16};
    return expression_run(ops, n, &in, ret);
}

enum { ALL = (1 << X86_COUNT) - 1 };

struct expression_case {
    Dwarf_Op ops[10];
    size_t n;
    int code;
    uint64_t value;
};
#define OP(name, ...)                                                                              \
    {                                                                                              \
        .atom = DW_OP_##name, __VA_ARGS__                                                          \
    }
static const struct expression_case cases[] = {
    {{OP(lit5), OP(lit3), OP(minus)}, 3, 0, 2},
    {{OP(lit5), OP(lit3), OP(swap), OP(minus)}, 4, 0, UINT64_MAX - 1},
    {{OP(lit1), OP(lit2), OP(lit3), OP(rot), OP(drop)}, 5, 0, 1},
    {{OP(lit7), OP(lit8), OP(over)}, 3, 0, 7},
    {{OP(const1s, .number = (Dwarf_Word)-9), OP(lit2), OP(div)}, 3, 0, (uint64_t)-4},
    {{OP(const1s, .number = (Dwarf_Word)-9), OP(lit2), OP(shra)}, 3, 0, (uint64_t)-3},
    {{OP(const1s, .number = (Dwarf_Word)-9), OP(abs)}, 2, 0, 9},
    {{OP(lit1), OP(constu, .number = 64), OP(shl)}, 3, 0, 0},
    {{OP(breg7, .number = 8), OP(deref)}, 2, 0, 0x2222},
    {{OP(call_frame_cfa), OP(deref_size, .number = 1)}, 2, 0, 0x33},
    {{OP(lit6), OP(lit7), OP(mul)}, 3, 0, 42},
    {{OP(lit6), OP(lit3), OP(or)}, 3, 0, 7},
    {{OP(lit6), OP(lit3), OP(xor)}, 3, 0, 5},
    {{OP(lit6), OP(lit6), OP(eq)}, 3, 0, 1},
    {{OP(lit6), OP(lit6), OP(ne)}, 3, 0, 0},
    {{OP(const1s, .number = (Dwarf_Word)-1), OP(lit6), OP(lt)}, 3, 0, 1},
    {{OP(const1s, .number = (Dwarf_Word)-1), OP(lit6), OP(le)}, 3, 0, 1},
    {{OP(const1s, .number = (Dwarf_Word)-1), OP(lit6), OP(gt)}, 3, 0, 0},
    {{OP(lit6), OP(not )}, 2, 0, UINT64_MAX - 6},
    /* The PLT's CFA at the 11th byte of a stub. */
    {{OP(breg7, .number = 8), OP(breg16), OP(lit15), OP(and), OP(lit11), OP(ge), OP(lit3), OP(shl),
      OP(plus)},
     9,
     0,
     STACK_AT + 16},
    /* bra over a constant: 1 bra(+1) lit9 lit4. */
    {{OP(lit4), OP(lit1, .offset = 1), OP(bra, .offset = 2, .number = 1), OP(lit9, .offset = 5),
      OP(nop, .offset = 6)},
     5,
     0,
     4},
    /* For ever. */
    {{OP(skip, .offset = 0, .number = (Dwarf_Word)-3)}, 1, -EPROTO, 0},
    {{OP(skip, .offset = 0, .number = 77)}, 1, -EPROTO, 0},
    {{OP(dup)}, 1, -EPROTO, 0},
    {{OP(lit1), OP(swap)}, 2, -EPROTO, 0},
    {{OP(lit1), OP(lit2), OP(rot)}, 3, -EPROTO, 0},
    {{OP(deref)}, 1, -EPROTO, 0},
    {{OP(breg7), OP(deref_size, .number = 9)}, 2, -EPROTO, 0},
    {{OP(plus)}, 1, -EPROTO, 0},
    {{OP(lit1), OP(lit0), OP(div)}, 3, -EPROTO, 0},
    {{OP(constu, .number = UINT64_C(1) << 63), OP(const1s, .number = (Dwarf_Word)-1), OP(div)},
     3,
     -EPROTO,
     0},
    {{OP(lit1), OP(pick, .number = 1)}, 2, -EPROTO, 0},
    {{OP(breg7, .number = 17), OP(deref)}, 2, -EFAULT, 0},
    {{OP(const8u, .number = UINT64_MAX), OP(deref)}, 2, -EFAULT, 0},
    {{OP(bregx, .number = 400)}, 1, -EPROTO, 0},
    {{OP(lit0), OP(xderef)}, 2, -EPROTO, 0},
    {{OP(nop)}, 1, -EPROTO, 0},
};

START_TEST(expression_gives)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        int r = run(cases[i].ops, cases[i].n, ALL, &value);
        ck_assert_msg(r == cases[i].code && value == cases[i].value,
                      "case %zu: code %d, value %#lx", i, r, (unsigned long)value);
    }
}
END_TEST

START_TEST(expression_asks_for_unknown_registers)
{
    const Dwarf_Op ops[] = {{.atom = DW_OP_breg6}};
    uint64_t value;
    ck_assert_int_eq(run(ops, 1, 1 << X86_RSP, &value), -ENODATA);
}
END_TEST

START_TEST(expression_stack_is_bounded)
{
    Dwarf_Op ops[100];
    for (size_t i = 0; i < 100; i++)
        ops[i] = (Dwarf_Op){.atom = DW_OP_lit1, .offset = i};
    uint64_t value;
    ck_assert_int_eq(run(ops, 100, ALL, &value), -EPROTO);
}
END_TEST

CHECK_MAIN("expression", 5, expression_gives, expression_asks_for_unknown_registers,
           expression_stack_is_bounded)
