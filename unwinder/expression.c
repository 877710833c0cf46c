#include "unwinder/expression.h"

#include <dwarf.h>
#include <errno.h>

#include "unwinder/dwarf_bytes.h"

/* Expressions in CFI have ten operations or so; loops are legal, hence a bound. */
enum { MAX_STEPS = 1000, MAX_DEPTH = 64 };

struct machine {
    const struct expression *expression;
    const struct expression_input *in;
    struct dwarf_bytes left;
    uint64_t stack[MAX_DEPTH];
    size_t depth;
};

static int push(struct machine *m, uint64_t value)
{
    if (m->depth == MAX_DEPTH)
        return -EPROTO;
    m->stack[m->depth++] = value;
    return 0;
}

static int pop(struct machine *m, uint64_t *ret)
{
    if (m->depth == 0)
        return -EPROTO;
    *ret = m->stack[--m->depth];
    return 0;
}

static int push_reg(struct machine *m, uint64_t reg, uint64_t offset)
{
    if (reg >= REG_COUNT)
        return -EPROTO;
    if (!(m->in->regs->known & REG_BIT(reg)))
        return -ENODATA;
    return push(m, m->in->regs->r[reg] + offset);
}

/* Copies the item INDEX below the top to the top. */
static int pick(struct machine *m, uint64_t index)
{
    return index < m->depth ? push(m, m->stack[m->depth - 1 - index]) : -EPROTO;
}

/* Moves the top below the N items under it: DW_OP_swap is 1, DW_OP_rot is 2. */
static int rotate(struct machine *m, size_t n)
{
    if (m->depth <= n)
        return -EPROTO;
    uint64_t *top = &m->stack[m->depth - 1], value = *top;
    for (size_t i = 0; i < n; i++)
        top[-(ptrdiff_t)i] = top[-(ptrdiff_t)i - 1];
    top[-(ptrdiff_t)n] = value;
    return 0;
}

static int load(struct machine *m, uint64_t bytes)
{
    uint64_t addr, value;
    if (bytes == 0 || bytes > sizeof value || pop(m, &addr) < 0)
        return -EPROTO;
    int r = stack_view_u64(m->in->view, addr, &value);
    if (r < 0)
        return r;
    return push(m, bytes == 8 ? value : value & ((UINT64_C(1) << bytes * 8) - 1));
}

/* ATOM is one of DW_OP_and … DW_OP_ne, but neither unary nor a division. */
static uint64_t compute(uint8_t atom, uint64_t a, uint64_t b)
{
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (atom) {
    case DW_OP_plus:
        return a + b;
    case DW_OP_minus:
        return a - b;
    case DW_OP_mul:
        return a * b;
    case DW_OP_and:
        return a & b;
    case DW_OP_or:
        return a | b;
    case DW_OP_xor:
        return a ^ b;
    case DW_OP_shl:
        return b < 64 ? a << b : 0;
    case DW_OP_shr:
        return b < 64 ? a >> b : 0;
    case DW_OP_shra:
        return (uint64_t)(sa >> (b < 64 ? b : 63));
    case DW_OP_eq:
        return a == b;
    case DW_OP_ne:
        return a != b;
    case DW_OP_lt:
        return sa < sb;
    case DW_OP_le:
        return sa <= sb;
    case DW_OP_gt:
        return sa > sb;
    default:
        return sa >= sb;
    }
}

static int divide(struct machine *m, uint8_t atom, uint64_t a, uint64_t b)
{
    bool overflow = (int64_t)a == INT64_MIN && (int64_t)b == -1;
    if (b == 0 || (atom == DW_OP_div && overflow))
        return -EPROTO;
    return push(m, atom == DW_OP_mod ? a % b : (uint64_t)((int64_t)a / (int64_t)b));
}

static int binary(struct machine *m, uint8_t atom)
{
    uint64_t a, b;
    if (atom < DW_OP_and || atom > DW_OP_ne || pop(m, &b) < 0 || pop(m, &a) < 0)
        return -EPROTO;
    if (atom == DW_OP_div || atom == DW_OP_mod)
        return divide(m, atom, a, b);
    return push(m, compute(atom, a, b));
}

static int unary(struct machine *m, uint8_t atom)
{
    uint64_t a;
    if (pop(m, &a) < 0)
        return -EPROTO;
    if (atom == DW_OP_not)
        return push(m, ~a);
    bool keep = atom == DW_OP_abs && (int64_t)a >= 0;
    return push(m, keep ? a : 0 - a);
}

static int run_stack_op(struct machine *m, uint8_t op)
{
    uint64_t ignored;
    switch (op) {
    case DW_OP_dup:
        return pick(m, 0);
    case DW_OP_over:
        return pick(m, 1);
    case DW_OP_pick:
        return pick(m, dwarf_u8(&m->left));
    case DW_OP_drop:
        return pop(m, &ignored);
    case DW_OP_swap:
        return rotate(m, 1);
    case DW_OP_rot:
        return rotate(m, 2);
    case DW_OP_deref:
        return load(m, sizeof(uint64_t));
    case DW_OP_deref_size:
        return load(m, dwarf_u8(&m->left));
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
        return unary(m, op);
    case DW_OP_plus_uconst:
        return push(m, dwarf_uleb(&m->left)) < 0 ? -EPROTO : binary(m, DW_OP_plus);
    case DW_OP_nop:
        return 0;
    default:
        return binary(m, op);
    }
}

/* The constant that follows one of DW_OP_const1u … DW_OP_const8s. */
static uint64_t take_constant(struct machine *m, uint8_t op)
{
    const size_t bytes = (size_t)1 << (op - DW_OP_const1u) / 2;
    bool is_signed = (op - DW_OP_const1u) % 2;
    return is_signed ? dwarf_signed(&m->left, bytes) : dwarf_unsigned(&m->left, bytes);
}

static int branch(struct machine *m, bool is_taken)
{
    const int64_t by = (int64_t)dwarf_signed(&m->left, 2);
    const int64_t to = m->left.at - m->expression->bytes + by;
    if (!is_taken)
        return 0;
    if (to < 0 || to > (int64_t)m->expression->n)
        return -EPROTO;
    m->left.at = m->expression->bytes + to;
    return 0;
}

static int run_op(struct machine *m)
{
    uint64_t value;
    struct dwarf_bytes *b = &m->left;
    const uint8_t op = dwarf_u8(b);
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
        return push(m, op - DW_OP_lit0);
    if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
        return push_reg(m, op - DW_OP_breg0, dwarf_sleb(b));
    if (op >= DW_OP_const1u && op <= DW_OP_const8s)
        return push(m, take_constant(m, op));
    switch (op) {
    case DW_OP_bregx:
        value = dwarf_uleb(b);
        return push_reg(m, value, dwarf_sleb(b));
    case DW_OP_addr:
        return push(m, dwarf_unsigned(b, sizeof value) + m->expression->bias);
    case DW_OP_constu:
        return push(m, dwarf_uleb(b));
    case DW_OP_consts:
        return push(m, dwarf_sleb(b));
    case DW_OP_skip:
        return branch(m, true);
    case DW_OP_bra:
        return pop(m, &value) < 0 ? -EPROTO : branch(m, value);
    default:
        return run_stack_op(m, op);
    }
}

int expression_run(const struct expression *e, const struct expression_input *in, uint64_t *ret)
{
    struct machine m = {.expression = e, .in = in, .left = {e->bytes, e->bytes + e->n, false}};
    int r = e->on_cfa ? push(&m, in->cfa) : 0;
    for (size_t steps = 0; r == 0 && dwarf_left(&m.left); steps++)
        r = steps < MAX_STEPS ? run_op(&m) : -EPROTO;
    if (m.left.bad)
        return -EPROTO;
    return r < 0 ? r : pop(&m, ret);
}
