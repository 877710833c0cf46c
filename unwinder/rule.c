#include "unwinder/rule.h"

#include <errno.h>

#include "unwinder/expression.h"

static bool is_expression(const struct value_rule *value)
{
    return value->kind == VALUE_AT_EXPR || value->kind == VALUE_EXPR;
}

void rule_complete(struct rule *rule)
{
    /* The stack pointer of a caller is the CFA unless CFI says otherwise. */
    if (rule->values[X86_RSP].kind <= VALUE_SAME)
        rule->values[X86_RSP] = (struct value_rule){.kind = VALUE_CFA};
    /* A frame that returns to its own pc is no frame. */
    if (rule->values[X86_PC].kind == VALUE_SAME)
        rule->values[X86_PC].kind = VALUE_UNDEFINED;
    rule->is_root = rule->values[X86_PC].kind == VALUE_UNDEFINED;
    rule->has_expressions = is_expression(&rule->cfa);
    for (unsigned reg = 0; reg < X86_COUNT; reg++) {
        if (rule->values[reg].kind == VALUE_SAME)
            rule->preserved |= 1U << reg;
        else if (rule->values[reg].kind != VALUE_UNDEFINED)
            rule->saved |= 1U << reg;
        rule->has_expressions |= is_expression(&rule->values[reg]);
    }
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

static int reg_plus(const struct regs *regs, const struct value_rule *value, uint64_t *ret)
{
    if (!(regs->known & 1U << value->reg))
        return -ENODATA;
    *ret = regs->r[value->reg] + (uint64_t)(int64_t)value->offset;
    return 0;
}

static int plt_cfa(const struct regs *regs, const struct value_rule *value, uint64_t *ret)
{
    uint64_t cfa;
    int r = reg_plus(regs, value, &cfa);
    if (r < 0)
        return r;
    if (!(regs->known & 1U << X86_PC))
        return -ENODATA;
    *ret = cfa + ((regs->r[X86_PC] & 15) >= value->n ? 8 : 0);
    return 0;
}

static int run_expression(const struct rule *rule, const struct value_rule *value,
                          const struct expression_input *in, uint64_t *ret)
{
    const struct expression e = {
        .bytes = rule->bytes + value->offset,
        .n = value->n,
        .bias = rule->bias,
        .on_cfa = value != &rule->cfa,
    };
    return expression_run(&e, in, ret);
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
