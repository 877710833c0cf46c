#include "unwinder/rule.h"

#include <errno.h>
#include <string.h>

#include "tests/support/check_main.h"

enum { SP = 0x7ff0000, WORDS = 16 };
static uint64_t words[WORDS];
static struct stack_view view;
static struct regs frame;

static void set_up(void)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = 0x1000 + i;
    view = (struct stack_view){.bytes = (const uint8_t *)words, .start = SP, .len = sizeof words};
    frame = (struct regs){.known = 1U << X86_RSP | 1U << X86_PC | 1U << X86_RBX};
    frame.r[X86_RSP] = SP;
    frame.r[X86_PC] = 0x40100b;
    frame.r[X86_RBX] = 77;
}

/* CFA = rsp + 32, return address below it; rbx kept; rbp saved at CFA − 16. */
static struct rule plain_rule(void)
{
    return (struct rule){
        .cfa = {VALUE_REG, X86_RSP, 0, 32},
        .values = {[X86_PC] = {VALUE_AT_CFA, 0, 0, -8},
                   [X86_RSP] = {VALUE_CFA, 0, 0, 0},
                   [X86_RBX] = {VALUE_SAME, 0, 0, 0},
                   [X86_RBP] = {VALUE_AT_CFA, 0, 0, -16}},
        .preserved = 1U << X86_RBX,
        .saved = 1U << X86_PC | 1U << X86_RSP | 1U << X86_RBP,
    };
}

START_TEST(plain_frame)
{
    set_up();
    const struct rule rule = plain_rule();
    struct regs caller;
    uint64_t cfa;
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), 0);
    ck_assert_uint_eq(cfa, SP + 32);
    ck_assert_uint_eq(caller.r[X86_PC], 0x1003);
    ck_assert_uint_eq(caller.r[X86_RBP], 0x1002);
    ck_assert_uint_eq(caller.r[X86_RBX], 77);
    ck_assert_uint_eq(caller.r[X86_RSP], SP + 32);
    ck_assert_uint_eq(caller.known, rule.preserved | rule.saved);
    ck_assert_uint_eq(view.used, 32);
}
END_TEST

START_TEST(cfa_needs_its_register)
{
    set_up();
    struct rule rule = plain_rule();
    struct regs caller;
    uint64_t cfa;
    rule.cfa = (struct value_rule){VALUE_REG, X86_RBP, 0, 16};
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), -ENODATA);
    frame.known |= 1U << X86_RBP;
    frame.r[X86_RBP] = SP + 64;
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), 0);
    ck_assert_uint_eq(cfa, SP + 80);
}
END_TEST

START_TEST(realigned_frame)
{
    set_up();
    struct rule rule = plain_rule();
    struct regs caller;
    uint64_t cfa;
    words[1] = SP + 96; /* [rbp − 8]: the CFA, saved by the prologue */
    frame.known |= 1U << X86_RBP;
    frame.r[X86_RBP] = SP + 16;
    rule.cfa = (struct value_rule){VALUE_AT_REG, X86_RBP, 0, -8};
    rule.values[X86_RBP] = (struct value_rule){VALUE_AT_REG, X86_RBP, 0, 0};
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), 0);
    ck_assert_uint_eq(cfa, SP + 96);
    ck_assert_uint_eq(caller.r[X86_RBP], 0x1002);
    ck_assert_uint_eq(caller.r[X86_PC], 0x1000 + 11);
}
END_TEST

START_TEST(plt_stub_before_and_after_its_push)
{
    set_up();
    const struct rule rule = {.cfa = {VALUE_PLT, X86_RSP, 11, 8}};
    uint64_t cfa;
    ck_assert_int_eq(rule_cfa(&rule, &frame, &view, &cfa), 0);
    ck_assert_uint_eq(cfa, SP + 16);
    frame.r[X86_PC]--;
    ck_assert_int_eq(rule_cfa(&rule, &frame, &view, &cfa), 0);
    ck_assert_uint_eq(cfa, SP + 8);
}
END_TEST

START_TEST(plt_stub_needs_its_registers)
{
    set_up();
    const struct rule rule = {.cfa = {VALUE_PLT, X86_RSP, 11, 8}};
    uint64_t cfa;
    frame.known = 1U << X86_RSP;
    ck_assert_int_eq(rule_cfa(&rule, &frame, &view, &cfa), -ENODATA);
    frame.known = 1U << X86_PC;
    ck_assert_int_eq(rule_cfa(&rule, &frame, &view, &cfa), -ENODATA);
    frame.known |= 1U << X86_RSP;
    ck_assert_int_eq(rule_cfa(&rule, &frame, &view, &cfa), 0);
}
END_TEST

START_TEST(no_value_is_no_address)
{
    set_up();
    struct rule rule = plain_rule();
    uint64_t cfa;
    rule.cfa = (struct value_rule){VALUE_UNDEFINED, X86_RSP, 0, 32};
    ck_assert_int_eq(rule_cfa(&rule, &frame, &view, &cfa), -EPROTO);
    rule.cfa.kind = VALUE_SAME;
    ck_assert_int_eq(rule_cfa(&rule, &frame, &view, &cfa), -EPROTO);
}
END_TEST

START_TEST(unreadable_slots)
{
    set_up();
    struct rule rule = plain_rule();
    struct regs caller;
    uint64_t cfa;
    rule.values[X86_RBP].offset = 4096;
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), 0);
    ck_assert(!(caller.known & 1U << X86_RBP));
    rule.cfa.offset = sizeof words + 16;
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), -EFAULT);
    view.cut = true;
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), -ERANGE);
    ck_assert_uint_ge(view.wanted, sizeof words + 16);
    rule.cfa.offset = INT32_MIN;
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), -EFAULT);
    frame.r[X86_RSP] = UINT64_MAX;
    rule.cfa.offset = 8;
    ck_assert_int_eq(rule_apply(&rule, &frame, &view, &cfa, &caller), -EFAULT);
}
END_TEST

CHECK_MAIN("rule", 5, plain_frame, cfa_needs_its_register, realigned_frame,
           plt_stub_before_and_after_its_push, plt_stub_needs_its_registers, no_value_is_no_address,
           unreadable_slots)
