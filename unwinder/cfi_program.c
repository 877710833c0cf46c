#include "unwinder/cfi_program.h"

#include <dwarf.h>
#include <errno.h>

enum {
    /* At a time.  Their number is one for each way out of a function. */
    MAX_REMEMBERED = 64,
    MAX_EXPRESSION_BYTES = 4096,
};

/* A row of the table.  Registers from REG_COUNT on are read, and not kept. */
struct cfi_row {
    struct value_rule cfa;
    struct value_rule base; /* the last CFA that was register + offset */
    struct value_rule values[REG_COUNT];
};

struct execution {
    const struct cfi_section *section;
    const struct cfi_cie *cie;
    struct dwarf_bytes left;
    uint64_t loc, wanted; /* addresses: of the row, and of the row that is looked for */
    struct cfi_row row, initial;
    struct cfi_row remembered[MAX_REMEMBERED];
    unsigned n_remembered;
};

/* ---- expressions ---- */

/* Is B "register + offset", with a dereference or without? */
static bool is_register(struct dwarf_bytes b, struct value_rule *ret, bool *ret_deref)
{
    uint8_t op = dwarf_u8(&b);
    uint64_t offset = dwarf_sleb(&b);
    *ret_deref = dwarf_left(&b) == 1 && *b.at == DW_OP_deref;
    *ret = (struct value_rule){VALUE_REG, (uint8_t)(op - DW_OP_breg0), 0, (int32_t)offset};
    return !b.bad && dwarf_left(&b) == *ret_deref && op >= DW_OP_breg0 &&
           op < DW_OP_breg0 + REG_COUNT && offset == (uint64_t)ret->offset;
}

/* Is it (((pc & 15) >= N) << 3) + rsp + OFFSET?  The linkers' CFI of the PLT. */
static bool is_plt(struct dwarf_bytes b, struct value_rule *ret)
{
    static const uint8_t before[] = {DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
    static const uint8_t after[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
    bool ignored;
    const uint8_t *rsp = b.at;
    (void)dwarf_u8(&b);
    (void)dwarf_sleb(&b);
    const struct dwarf_bytes base = {rsp, b.at, b.bad};
    if (!is_register(base, ret, &ignored) || ret->reg != REG_SP ||
        dwarf_left(&b) != sizeof before + 1 + sizeof after ||
        memcmp(b.at, before, sizeof before) != 0 ||
        memcmp(b.at + sizeof before + 1, after, sizeof after) != 0)
        return false;
    uint8_t threshold = b.at[sizeof before] - DW_OP_lit0;
    ret->kind = VALUE_PLT;
    ret->n = threshold;
    return threshold <= DW_OP_lit31 - DW_OP_lit0;
}

/* Takes the expression of KIND that comes next. */
static struct value_rule take_expression(struct execution *e, enum value_kind kind)
{
    bool deref;
    struct value_rule ret;
    const struct dwarf_bytes ops = dwarf_part(&e->left, dwarf_uleb(&e->left));
    const size_t offset = (size_t)(ops.at - e->section->bytes);
    if (ops.bad || !dwarf_left(&ops) || dwarf_left(&ops) > MAX_EXPRESSION_BYTES) {
        dwarf_fail(&e->left);
        return (struct value_rule){0};
    }
    if (is_register(ops, &ret, &deref) && !(deref && kind == VALUE_AT_EXPR)) {
        ret.kind = deref || kind == VALUE_AT_EXPR ? VALUE_AT_REG : VALUE_REG;
        return ret;
    }
    return (struct value_rule){(uint8_t)kind, 0, (uint16_t)dwarf_left(&ops), (int32_t)offset};
}

static void define_cfa_expression(struct execution *e)
{
    struct value_rule plt;
    e->row.cfa = take_expression(e, VALUE_EXPR);
    const uint8_t *start = e->section->bytes + e->row.cfa.offset;
    if (e->row.cfa.kind == VALUE_EXPR &&
        is_plt((struct dwarf_bytes){start, start + e->row.cfa.n, false}, &plt))
        e->row.cfa = plt;
}

/* ---- instructions ---- */

static uint64_t factored(const struct execution *e, uint64_t value)
{
    return value * e->cie->data_align;
}

static uint64_t take_factored(struct execution *e)
{
    return factored(e, dwarf_uleb(&e->left));
}

static uint64_t take_factored_signed(struct execution *e)
{
    return factored(e, dwarf_sleb(&e->left));
}

static void advance(struct execution *e, uint64_t by)
{
    e->loc += by * e->cie->code_align;
}

static void set(struct execution *e, uint64_t reg, struct value_rule value)
{
    if (reg < REG_COUNT)
        e->row.values[reg] = value;
}

static void set_offset(struct execution *e, uint64_t reg, enum value_kind kind, uint64_t offset)
{
    const int32_t offset32 = (int32_t)offset;
    if ((uint64_t)offset32 != offset)
        dwarf_fail(&e->left);
    set(e, reg, (struct value_rule){(uint8_t)kind, 0, 0, offset32});
}

static void set_register(struct execution *e, uint64_t reg, uint64_t other)
{
    if (other >= REG_COUNT)
        dwarf_fail(&e->left);
    set(e, reg, (struct value_rule){VALUE_REG, (uint8_t)other, 0, 0});
}

static void restore(struct execution *e, uint64_t reg)
{
    if (reg < REG_COUNT)
        e->row.values[reg] = e->initial.values[reg];
}

static void remember_state(struct execution *e)
{
    if (e->n_remembered == MAX_REMEMBERED)
        dwarf_fail(&e->left);
    else
        e->remembered[e->n_remembered++] = e->row;
}

static void restore_state(struct execution *e)
{
    if (!e->n_remembered)
        dwarf_fail(&e->left);
    else
        e->row = e->remembered[--e->n_remembered];
}

static void define_cfa(struct execution *e, uint64_t reg, uint64_t offset)
{
    const int32_t offset32 = (int32_t)offset;
    if (reg >= REG_COUNT || (uint64_t)offset32 != offset)
        dwarf_fail(&e->left);
    e->row.cfa = e->row.base = (struct value_rule){VALUE_REG, (uint8_t)reg, 0, offset32};
}

/* Another register or another offset.  Behind an expression the other one is what it was before, as
 * for libgcc and gdb: OpenSSL's assembly ends so. */
static void change_cfa(struct execution *e, uint64_t reg, uint64_t offset)
{
    if (e->row.base.kind != VALUE_REG)
        dwarf_fail(&e->left);
    define_cfa(e, reg, offset);
}

/* An instruction that names a register first. */
static void register_instruction(struct execution *e, uint8_t code)
{
    const uint64_t reg = dwarf_uleb(&e->left);
    switch (code) {
    case DW_CFA_offset_extended:
        set_offset(e, reg, VALUE_AT_CFA, take_factored(e));
        break;
    case DW_CFA_offset_extended_sf:
        set_offset(e, reg, VALUE_AT_CFA, take_factored_signed(e));
        break;
    case DW_CFA_GNU_negative_offset_extended:
        set_offset(e, reg, VALUE_AT_CFA, 0 - take_factored(e));
        break;
    case DW_CFA_val_offset:
        set_offset(e, reg, VALUE_CFA, take_factored(e));
        break;
    case DW_CFA_val_offset_sf:
        set_offset(e, reg, VALUE_CFA, take_factored_signed(e));
        break;
    case DW_CFA_restore_extended:
        restore(e, reg);
        break;
    case DW_CFA_undefined:
        set(e, reg, (struct value_rule){.kind = VALUE_UNDEFINED});
        break;
    case DW_CFA_same_value:
        set(e, reg, (struct value_rule){.kind = VALUE_SAME});
        break;
    case DW_CFA_register:
        set_register(e, reg, dwarf_uleb(&e->left));
        break;
    case DW_CFA_expression:
        set(e, reg, take_expression(e, VALUE_AT_EXPR));
        break;
    case DW_CFA_val_expression:
        set(e, reg, take_expression(e, VALUE_EXPR));
        break;
    case DW_CFA_def_cfa:
        define_cfa(e, reg, dwarf_uleb(&e->left));
        break;
    case DW_CFA_def_cfa_sf:
        define_cfa(e, reg, take_factored_signed(e));
        break;
    case DW_CFA_def_cfa_register:
        change_cfa(e, reg, (uint64_t)(int64_t)e->row.base.offset);
        break;
    default:
        dwarf_fail(&e->left);
    }
}

static void instruction(struct execution *e)
{
    struct dwarf_bytes *b = &e->left;
    const uint8_t code = dwarf_u8(b), low = code & 0x3f;
    switch (code < 0x40 ? code : code & 0xc0) {
    case DW_CFA_advance_loc:
        advance(e, low);
        break;
    case DW_CFA_offset:
        set_offset(e, low, VALUE_AT_CFA, take_factored(e));
        break;
    case DW_CFA_restore:
        restore(e, low);
        break;
    case DW_CFA_nop:
        break;
    case DW_CFA_set_loc:
        e->loc = cfi_read_address(e->section, b, e->cie->encoding);
        break;
    case DW_CFA_advance_loc1:
        advance(e, dwarf_u8(b));
        break;
    case DW_CFA_advance_loc2:
        advance(e, dwarf_unsigned(b, 2));
        break;
    case DW_CFA_advance_loc4:
        advance(e, dwarf_unsigned(b, 4));
        break;
    case DW_CFA_MIPS_advance_loc8:
        advance(e, dwarf_unsigned(b, 8));
        break;
    case DW_CFA_remember_state:
        remember_state(e);
        break;
    case DW_CFA_restore_state:
        restore_state(e);
        break;
    case DW_CFA_def_cfa_offset:
        change_cfa(e, e->row.base.reg, dwarf_uleb(b));
        break;
    case DW_CFA_def_cfa_offset_sf:
        change_cfa(e, e->row.base.reg, take_factored_signed(e));
        break;
    case DW_CFA_def_cfa_expression:
        define_cfa_expression(e);
        break;
    case DW_CFA_GNU_args_size:
        (void)dwarf_uleb(b);
        break;
    default:
        register_instruction(e, code);
    }
}

/* Up to the end, or until the row of the wanted address is complete. */
static bool run(struct execution *e, const struct dwarf_bytes *program)
{
    e->left = *program;
    while (dwarf_left(&e->left) && e->loc <= e->wanted)
        instruction(e);
    return !e->left.bad;
}

/* A frame about which nothing is said: a function preserves some registers. */
static struct cfi_row unmentioned(void)
{
    struct cfi_row ret = {0};
    for (unsigned reg = 0; reg < REG_COUNT; reg++)
        if (REGS_PRESERVED & REG_BIT(reg))
            ret.values[reg].kind = VALUE_SAME;
    return ret;
}

int cfi_execute(const struct cfi_section *s, const struct cfi_fde *fde, uint64_t elf_addr,
                struct rule *ret)
{
    struct execution e;
    e.section = s;
    e.cie = &fde->cie;
    e.row = e.initial = unmentioned();
    e.n_remembered = 0;
    e.loc = 0;
    e.wanted = UINT64_MAX;
    bool sound = run(&e, &fde->cie.program);
    e.initial = e.row;
    e.loc = fde->function.start;
    e.wanted = elf_addr;
    if (!sound || !run(&e, &fde->program) || e.row.cfa.kind == VALUE_UNDEFINED)
        return -ENOENT;
    *ret = (struct rule){.cfa = e.row.cfa, .is_signal = fde->cie.is_signal, .bytes = s->bytes};
    memcpy(ret->values, e.row.values, sizeof ret->values);
    rule_complete(ret);
    return 0;
}
