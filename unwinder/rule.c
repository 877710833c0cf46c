#include "unwinder/rule.h"

#include <errno.h>

#include "arch/signal_frame.h"
#include "unwinder/expression.h"

static bool is_expression(const struct value_rule *value)
{
    return value->kind == VALUE_AT_EXPR || value->kind == VALUE_EXPR;
}

void rule_complete(struct rule *rule)
{
    /* The stack pointer of a caller is the CFA unless CFI says otherwise. */
    if (rule->values[REG_SP].kind <= VALUE_SAME)
        rule->values[REG_SP] = (struct value_rule){.kind = VALUE_CFA};
    /* A frame that returns to its own pc is no frame. */
    if (rule->values[REG_PC].kind == VALUE_SAME)
        rule->values[REG_PC].kind = VALUE_UNDEFINED;
    rule->is_root = rule->values[REG_PC].kind == VALUE_UNDEFINED;
    rule->has_expressions = is_expression(&rule->cfa);
    for (unsigned reg = 0; reg < REG_COUNT; reg++) {
        if (rule->values[reg].kind == VALUE_SAME)
            rule->preserved |= REG_BIT(reg);
        else if (rule->values[reg].kind != VALUE_UNDEFINED)
            rule->saved |= REG_BIT(reg);
        rule->has_expressions |= is_expression(&rule->values[reg]);
    }
}

struct rule rule_sigreturn(void)
{
    struct signal_register registers[REG_COUNT];
    struct rule rule = {.is_signal = true};
    for (size_t n = signal_registers(registers), i = 0; i < n; i++) {
        uint8_t reg = registers[i].reg;
        rule.values[reg] = (struct value_rule){VALUE_AT_REG, REG_SP, 0, registers[i].offset};
        rule.saved |= REG_BIT(reg);
    }
    rule.cfa = rule.values[REG_SP];
    return rule;
}

struct rule rule_clone_return(void)
{
    struct rule rule = {
        .cfa = {.kind = VALUE_REG, .reg = REG_SP, .offset = 8},
        .values[REG_PC] = {.kind = VALUE_AT_CFA, .offset = -8},
        .values[REG_SP] = {.kind = VALUE_CFA},
        .saved = REG_BIT(REG_PC) | REG_BIT(REG_SP),
        .preserved = REGS_PRESERVED,
        .is_clone = true,
    };
    for (unsigned reg = 0; reg < REG_COUNT; reg++)
        if (REGS_PRESERVED & REG_BIT(reg))
            rule.values[reg].kind = VALUE_SAME;
    return rule;
}

static int reg_plus(const struct regs *regs, const struct value_rule *value, uint64_t *ret)
{
    if (!(regs->known & REG_BIT(value->reg)))
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
    if (!(regs->known & REG_BIT(REG_PC)))
        return -ENODATA;
    *ret = cfa + ((regs->r[REG_PC] & 15) >= value->n ? 8 : 0);
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
    return value->kind == VALUE_AT_CFA && in->regs->known & REG_BIT(REG_SP) &&
           in->cfa + (uint64_t)(int64_t)value->offset < in->regs->r[REG_SP];
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
    for (reg_set left = rule->saved; left; left &= left - 1) {
        unsigned reg = (unsigned)__builtin_ctzll(left);
        uint64_t value = frame->r[reg];
        r = value_of(rule, &rule->values[reg], &in, &value);
        if (r < 0 && (reg == REG_PC || reg == REG_SP))
            return r;
        if (r == 0 || (is_popped(&rule->values[reg], &in) && frame->known & REG_BIT(reg))) {
            caller->r[reg] = r == 0 ? value : frame->r[reg];
            caller->known |= REG_BIT(reg);
        }
    }
    return 0;
}
