#include "unwinder/rule.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwinder/expression.h"

/* Of one rule: more than any compiler writes.  A rule with more is taken as malformed. */
enum { MAX_EXPRESSION_OPS = 256 };

/* Is OP "register + offset"? */
static bool is_breg(const Dwarf_Op *op, struct value_rule *ret)
{
    uint64_t reg = op->number, offset = op->number2;
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        reg = op->atom - DW_OP_breg0;
        offset = op->number;
    } else if (op->atom != DW_OP_bregx) {
        return false;
    }
    int32_t offset32 = (int32_t)offset;
    if (reg >= X86_COUNT || offset != (uint64_t)offset32)
        return false;
    *ret = (struct value_rule){VALUE_REG, (uint8_t)reg, 0, offset32};
    return true;
}

/* Is it (((pc & 15) >= N) << 3) + rsp + OFFSET?  The linkers' CFI of the PLT. */
static bool is_plt(const Dwarf_Op *ops, size_t n, struct value_rule *ret)
{
    static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, DW_OP_lit0,
                                    DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
    enum { THRESHOLD = 4 };
    if (n != sizeof atoms || ops[1].number != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (i != THRESHOLD && ops[i].atom != atoms[i])
            return false;
    uint8_t threshold = ops[THRESHOLD].atom;
    if (threshold < DW_OP_lit0 || threshold > DW_OP_lit31 || !is_breg(&ops[0], ret))
        return false;
    ret->kind = VALUE_PLT;
    ret->n_ops = threshold - DW_OP_lit0;
    return true;
}

/* Keeps a copy of OPS in RULE. */
static int add_expression(struct rule *rule, const Dwarf_Op *ops, size_t n, enum value_kind kind,
                          struct value_rule *ret)
{
    if (rule->n_ops + n > MAX_EXPRESSION_OPS)
        return -ENOENT;
    rule->ops = xrealloc(rule->ops, (rule->n_ops + n) * sizeof *ops);
    memcpy(rule->ops + rule->n_ops, ops, n * sizeof *ops);
    *ret = (struct value_rule){(uint8_t)kind, 0, (uint16_t)n, (int32_t)rule->n_ops};
    rule->n_ops += n;
    return 0;
}

static int compile_cfa(struct rule *rule, const Dwarf_Op *ops, size_t n)
{
    struct value_rule *cfa = &rule->cfa;
    if (n == 0)
        return -ENOENT;
    if (n == 1 && is_breg(&ops[0], cfa))
        return 0;
    if (n == 2 && ops[1].atom == DW_OP_deref && is_breg(&ops[0], cfa)) {
        cfa->kind = VALUE_AT_REG;
        return 0;
    }
    if (is_plt(ops, n, cfa))
        return 0;
    return add_expression(rule, ops, n, VALUE_EXPR, cfa);
}

/* The simple forms of a register's rule; all begin with the CFA, which libdw pushes first. */
static bool is_simple(const Dwarf_Op *ops, size_t n, bool is_value, struct value_rule *ret)
{
    int32_t offset = n == 2 ? (int32_t)ops[1].number : 0;
    if (n == 2 && is_breg(&ops[1], ret)) {
        ret->kind = is_value ? VALUE_REG : VALUE_AT_REG;
        return true;
    }
    if (n == 2 && (ops[1].atom != DW_OP_plus_uconst || ops[1].number != (uint64_t)offset))
        return false;
    *ret = (struct value_rule){is_value ? VALUE_CFA : VALUE_AT_CFA, 0, 0, offset};
    return n == 1 || n == 2;
}

static int compile_value(struct rule *rule, const Dwarf_Op *ops, size_t n, struct value_rule *ret)
{
    bool is_value = ops[n - 1].atom == DW_OP_stack_value;
    n -= is_value;
    if (n == 0)
        return -ENOENT;
    if (ops[0].atom == DW_OP_regx && ops[0].number < X86_COUNT) {
        *ret = (struct value_rule){VALUE_REG, (uint8_t)ops[0].number, 0, 0};
        return 0;
    }
    if (ops[0].atom == DW_OP_call_frame_cfa && is_simple(ops, n, is_value, ret))
        return 0;
    return add_expression(rule, ops, n, is_value ? VALUE_EXPR : VALUE_AT_EXPR, ret);
}

/* The registers that a function preserves (psABI §3.2.1).  libdw's own defaults (0.188,
 * backends/x86_64_cfi.c) take DWARF register 0, rax, for rbx. */
static enum value_kind unmentioned(int reg)
{
    const uint32_t preserved = 1U << X86_RBX | 1U << X86_RBP | 1U << X86_R12 | 1U << X86_R13 |
                               1U << X86_R14 | 1U << X86_R15;
    return preserved & 1U << reg ? VALUE_SAME : VALUE_UNDEFINED;
}

static int compile_register(struct rule *rule, Dwarf_Frame *frame, int reg)
{
    Dwarf_Op mem[3], *ops;
    size_t n;
    struct value_rule *value = &rule->values[reg];
    if (dwarf_frame_register(frame, reg, mem, &ops, &n) < 0)
        return -ENOENT;
    if (n == 0) {
        /* NULL: the same.  Else it is undefined, as gcc 14 says of registers that a noreturn
         * function does not save.  But libdw says so of rbx too where CFI does not mention it. */
        bool undefined = ops && reg != X86_RBX;
        value->kind = (uint8_t)(undefined ? VALUE_UNDEFINED : unmentioned(reg));
        return 0;
    }
    return compile_value(rule, ops, n, value);
}

/* DW_OP_addr is the one operation that depends on where the code is mapped. */
static bool has_address(const struct rule *rule)
{
    for (size_t i = 0; i < rule->n_ops; i++)
        if (rule->ops[i].atom == DW_OP_addr)
            return true;
    return false;
}

struct rule rule_moved(const struct rule *rule, uint64_t bias)
{
    struct rule ret = *rule;
    const size_t bytes = rule->n_ops * sizeof *rule->ops;
    if (!bytes)
        return ret;
    ret.ops = xmalloc(bytes);
    memcpy(ret.ops, rule->ops, bytes);
    for (size_t i = 0; i < ret.n_ops; i++)
        if (ret.ops[i].atom == DW_OP_addr)
            ret.ops[i].number += bias;
    return ret;
}

int rule_compile(struct rule *ret, Dwarf_Frame *frame)
{
    struct rule rule = {0};
    Dwarf_Op *ops;
    size_t n;
    int r = -ENOENT;
    if (dwarf_frame_info(frame, NULL, NULL, &rule.is_signal) >= 0 &&
        dwarf_frame_cfa(frame, &ops, &n) == 0)
        r = compile_cfa(&rule, ops, n);
    for (int reg = 0; r == 0 && reg < X86_COUNT; reg++)
        r = compile_register(&rule, frame, reg);
    if (r < 0) {
        rule_release(&rule);
        return r;
    }
    rule.has_address = has_address(&rule);
    /* The stack pointer of a caller is the CFA unless CFI says otherwise. */
    if (rule.values[X86_RSP].kind <= VALUE_SAME)
        rule.values[X86_RSP] = (struct value_rule){.kind = VALUE_CFA};
    for (unsigned reg = 0; reg < X86_COUNT; reg++) {
        if (rule.values[reg].kind == VALUE_SAME)
            rule.preserved |= 1U << reg;
        else if (rule.values[reg].kind != VALUE_UNDEFINED)
            rule.saved |= 1U << reg;
    }
    rule.is_root = rule.values[X86_PC].kind == VALUE_UNDEFINED;
    *ret = rule;
    return 0;
}

struct rule rule_sigreturn(void)
{
    /* struct ucontext lies at rsp; these are its registers in order. */
    enum { UC_GREGS = 40 };
    static const uint8_t order[] = {8,       9,       10,      11,      12,      13,
                                    14,      15,      X86_RDI, X86_RSI, X86_RBP, X86_RBX,
                                    X86_RDX, X86_RAX, X86_RCX, X86_RSP, X86_PC};
    struct rule rule = {.is_signal = true, .saved = (1U << X86_COUNT) - 1};
    for (size_t i = 0; i < sizeof order; i++)
        rule.values[order[i]] =
            (struct value_rule){VALUE_AT_REG, X86_RSP, 0, (int32_t)(UC_GREGS + i * 8)};
    rule.cfa = rule.values[X86_RSP];
    return rule;
}

struct rule rule_clone_return(void)
{
    static const uint8_t kept[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};
    struct rule rule = {
        .cfa = {.kind = VALUE_REG, .reg = X86_RSP, .offset = 8},
        .values[X86_PC] = {.kind = VALUE_AT_CFA, .offset = -8},
        .values[X86_RSP] = {.kind = VALUE_CFA},
        .saved = 1U << X86_PC | 1U << X86_RSP,
        .is_clone = true,
    };
    for (size_t i = 0; i < sizeof kept; i++) {
        rule.values[kept[i]].kind = VALUE_SAME;
        rule.preserved |= 1U << kept[i];
    }
    return rule;
}

void rule_release(struct rule *rule)
{
    free(rule->ops);
    rule->ops = NULL;
}

static int reg_plus(const struct regs *regs, const struct value_rule *value, uint64_t *ret)
{
    if (!(regs->known & 1U << value->reg))
        return -ENODATA;
    *ret = regs->r[value->reg] + (uint64_t)(int64_t)value->offset;
    return 0;
}

static int run_expression(const struct rule *rule, const struct value_rule *value,
                          const struct expression_input *in, uint64_t *ret)
{
    return expression_run(rule->ops + value->offset, value->n_ops, in, ret);
}

static int plt_cfa(const struct regs *regs, const struct value_rule *value, uint64_t *ret)
{
    uint64_t cfa;
    int r = reg_plus(regs, value, &cfa);
    if (r < 0)
        return r;
    if (!(regs->known & 1U << X86_PC))
        return -ENODATA;
    *ret = cfa + ((regs->r[X86_PC] & 15) >= value->n_ops ? 8 : 0);
    return 0;
}

/* The value, or, for VALUE_AT_…, the address that holds it. */
static int evaluate(const struct rule *rule, const struct value_rule *value,
                    const struct expression_input *in, uint64_t *ret)
{
    switch ((enum value_kind)value->kind) {
    case VALUE_AT_CFA:
    case VALUE_CFA:
        *ret = in->cfa + (uint64_t)(int64_t)value->offset;
        return 0;
    case VALUE_AT_REG:
    case VALUE_REG:
        return reg_plus(in->regs, value, ret);
    case VALUE_PLT:
        return plt_cfa(in->regs, value, ret);
    case VALUE_AT_EXPR:
    case VALUE_EXPR:
        return run_expression(rule, value, in, ret);
    case VALUE_UNDEFINED:
    case VALUE_SAME:
        break;
    }
    return -EPROTO;
}

static int value_of(const struct rule *rule, const struct value_rule *value,
                    const struct expression_input *in, uint64_t *ret)
{
    uint64_t result;
    int r = evaluate(rule, value, in, &result);
    if (r < 0)
        return r;
    bool is_address =
        value->kind == VALUE_AT_CFA || value->kind == VALUE_AT_REG || value->kind == VALUE_AT_EXPR;
    if (is_address)
        return stack_view_u64(in->view, result, ret);
    *ret = result;
    return 0;
}

int rule_cfa(const struct rule *rule, const struct regs *frame, struct stack_view *view,
             uint64_t *ret)
{
    const struct expression_input in = {.regs = frame, .view = view};
    return value_of(rule, &rule->cfa, &in, ret);
}

/* In an epilogue CFI still names the slot below rsp from which the register was popped.
 * Snapshots need not hold that slot. */
static bool is_popped(const struct value_rule *value, const struct expression_input *in)
{
    return value->kind == VALUE_AT_CFA && in->regs->known & 1U << X86_RSP &&
           in->cfa + (uint64_t)(int64_t)value->offset < in->regs->r[X86_RSP];
}

int rule_apply(const struct rule *rule, const struct regs *frame, struct stack_view *view,
               uint64_t *ret_cfa, struct regs *caller)
{
    struct expression_input in = {.regs = frame, .view = view};
    int r = value_of(rule, &rule->cfa, &in, &in.cfa);
    if (r < 0)
        return r;
    *ret_cfa = in.cfa;
    *caller = *frame;
    caller->known = frame->known & rule->preserved;
    for (uint32_t left = rule->saved; left; left &= left - 1) {
        unsigned reg = (unsigned)__builtin_ctz(left);
        uint64_t value = frame->r[reg];
        r = value_of(rule, &rule->values[reg], &in, &value);
        if (r < 0 && (reg == X86_PC || reg == X86_RSP))
            return r;
        if (r == 0 || (is_popped(&rule->values[reg], &in) && frame->known & 1U << reg)) {
            caller->r[reg] = r == 0 ? value : frame->r[reg];
            caller->known |= 1U << reg;
        }
    }
    return 0;
}
