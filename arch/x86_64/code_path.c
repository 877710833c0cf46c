#include "arch/code_path.h"

#include "arch/insn.h"
#include "base/bytes.h"

/* By the machine's numbering. */
enum { MACHINE_RSP = 4, MACHINE_RBP = 5 };
static const uint8_t dwarf_number[16] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP,
                                         X86_RSI, X86_RDI, 8,       9,       10,      11,
                                         X86_R12, X86_R13, X86_R14, X86_R15};

/* ---- instructions ---- */

/* As much code from W->start on as there is, CODE_WINDOW_BYTES at most. */
static void fill_window(struct code_window *w)
{
    w->len = 0;
    for (size_t step = CODE_WINDOW_BYTES; step; step /= 2)
        if (w->len + step <= CODE_WINDOW_BYTES &&
            w->read(w->ctx, w->start, w->bytes, w->len + step) == 0)
            w->len += step;
}

static const uint8_t *code_at(struct code_window *w, uint64_t at, size_t *ret_len)
{
    uint64_t in = at - w->start;
    if (in >= w->len || w->len - in < INSN_MAX_BYTES) {
        in = 0;
        w->start = at;
        fill_window(w);
    }
    *ret_len = w->len - in;
    return w->bytes + in;
}

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x3e;
}

bool code_window_decode(struct code_window *w, uint64_t at, struct insn *ret)
{
    size_t len;
    const uint8_t *bytes = code_at(w, at, &len);
    size_t n = len ? insn_length(bytes, len) : 0;
    if (!n)
        return false;
    *ret = (struct insn){.op = bytes, .len = n, .next = at + n};
    for (; ret->len > 1 && is_prefix(*ret->op); ret->op++, ret->len--)
        ret->short_operands |= *ret->op == 0x66;
    if (ret->len > 1 && (*ret->op & 0xf0) == 0x40) {
        ret->rex = *ret->op++;
        ret->len--;
    }
    return true;
}

static int64_t signed_at(const uint8_t *bytes, size_t len)
{
    return len < sizeof(int32_t) ? (bytes[0] ^ 0x80) - 0x80 : get_i32(bytes);
}

/* The operand at the instruction's end. */
static int64_t last_operand(const struct insn *i, size_t len)
{
    return signed_at(i->op + i->len - len, len);
}

static bool has_modrm(const struct insn *i)
{
    return i->len >= 2;
}

static unsigned modrm_reg(const struct insn *i)
{
    return (i->op[1] >> 3 & 7U) | (i->rex & 4U) << 1;
}

static unsigned modrm_rm(const struct insn *i)
{
    return (i->op[1] & 7U) | (i->rex & 1U) << 3;
}

static bool is_register_form(const struct insn *i)
{
    return i->op[1] >> 6 == 3;
}

/* Is the memory operand rsp or rbp + displacement?  Of instructions without immediate. */
static bool stack_operand(const struct path *p, const struct insn *i, struct place *ret)
{
    unsigned mod = i->op[1] >> 6;
    size_t disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    bool no_index = i->len >= 3 && i->op[2] == 0x24 && !(i->rex & 2); /* with REX.X it is r12 */
    bool by_rsp = modrm_rm(i) == MACHINE_RSP && no_index && p->sp_known;
    bool by_rbp = modrm_rm(i) == MACHINE_RBP && mod != 0 && p->fp_known;
    if (mod == 3 || !(by_rsp || by_rbp))
        return false;
    *ret = by_rsp ? p->sp : p->fp;
    ret->offset += disp ? last_operand(i, disp) : 0;
    return true;
}

static bool is_one_of(uint8_t op, const char *ops, size_t n)
{
    return memchr(ops, op, n) != NULL;
}

/* The register that the instruction writes; −1: none, or the tables below do not know. */
static int written(const struct insn *i)
{
    static const char to_reg[] = "\x03\x0b\x13\x1b\x23\x2b\x33\x63\x8b\x8d";
    static const char to_rm[] =
        "\x01\x09\x11\x19\x21\x29\x31\x81\x83\x87\x89\xc1\xc7\xd1\xd3\xf7\xff";
    uint8_t op = i->op[0];
    if ((op & 0xf8) == 0xb8 || (op & 0xf8) == 0x90)
        return (op & 7) | (i->rex & 1) << 3;
    if (op == 0x0f) {
        bool cmov = i->len >= 3 && (i->op[1] & 0xf0) == 0x40;
        return cmov ? (i->op[2] >> 3 & 7) | (i->rex & 4) << 1 : -1;
    }
    if (!has_modrm(i))
        return -1;
    if (is_one_of(op, to_reg, sizeof to_reg - 1))
        return (int)modrm_reg(i);
    bool compares = (op == 0x81 || op == 0x83) && (i->op[1] >> 3 & 7) == 7;
    bool writes = is_register_form(i) && !compares && is_one_of(op, to_rm, sizeof to_rm - 1);
    return writes ? (int)modrm_rm(i) : -1;
}

/* ---- what they do ---- */

struct path path_begin(uint64_t at)
{
    return (struct path){
        .at = at,
        .sp = {X86_RSP, 0},
        .fp = {X86_RBP, 0},
        .sp_known = true,
        .fp_known = true,
    };
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->reg == b->reg && a->offset == b->offset;
}

static void restore(struct path *p, unsigned machine_reg, const struct place *from)
{
    uint8_t reg = dwarf_number[machine_reg];
    p->restored |= REG_BIT(reg);
    p->slots[reg] = *from;
    if (reg == X86_RBP)
        p->fp_known = false;
    if (p->saved & REG_BIT(reg) && same_place(from, &p->saved_at[reg])) {
        p->saved &= ~REG_BIT(reg);
        p->changed &= ~REG_BIT(reg);
    } else {
        p->changed |= REG_BIT(reg);
    }
}

/* Only what a register was at the path's start is worth keeping. */
static void save(struct path *p, unsigned machine_reg, const struct place *at)
{
    uint8_t reg = dwarf_number[machine_reg];
    if ((p->saved | p->changed) & REG_BIT(reg))
        return;
    p->saved |= REG_BIT(reg);
    p->saved_at[reg] = *at;
}

/* Is the word at rsp surely the return address: the word above the caller's rbp in a frame
 * record? */
static bool is_at_return_address(const struct path *p)
{
    const struct place *rbp = &p->slots[X86_RBP];
    return p->restored & REG_BIT(X86_RBP) && rbp->reg == X86_RBP && rbp->offset == 0 &&
           p->sp.reg == X86_RBP && p->sp.offset == 8;
}

static enum path_effect pop(struct path *p, unsigned machine_reg)
{
    if (!p->sp_known || machine_reg == MACHINE_RSP)
        return PATH_ENDS;
    /* V8's functions hold it in a register while they take as many arguments off the stack as there
     * are. */
    if (is_at_return_address(p))
        return PATH_RETURNS;
    restore(p, machine_reg, &p->sp);
    p->sp.offset += 8;
    return PATH_GOES_ON;
}

static enum path_effect push(struct path *p, unsigned machine_reg)
{
    p->sp.offset -= 8;
    if (p->sp_known) {
        p->pushed[dwarf_number[machine_reg]] = p->sp;
        save(p, machine_reg, &p->sp);
    }
    return PATH_GOES_ON;
}

static enum path_effect rsp_from_rbp(struct path *p, int64_t offset)
{
    p->sp_known = p->fp_known;
    p->sp = p->fp;
    p->sp.offset += offset;
    return PATH_GOES_ON;
}

/* An instruction whose result goes to rsp.  After an instruction that is not followed (alloca) rsp
 * is unknown until it is taken from rbp. */
static enum path_effect write_rsp(struct path *p, const struct insn *i)
{
    uint8_t op = i->op[0];
    unsigned extension = i->op[1] >> 3 & 7;
    bool whole = i->rex & 8;
    bool from_rbp = whole && ((op == 0x89 && modrm_reg(i) == MACHINE_RBP) ||
                              (op == 0x8b && is_register_form(i) && modrm_rm(i) == MACHINE_RBP));
    if (from_rbp)
        return rsp_from_rbp(p, 0);
    if (whole && (op == 0x81 || op == 0x83) && (extension == 0 || extension == 5)) {
        int64_t by = last_operand(i, op == 0x83 ? 1 : 4);
        p->sp.offset += extension == 0 ? by : -by;
    } else {
        p->sp_known = whole && op == 0x8d && stack_operand(p, i, &p->sp);
    }
    return PATH_GOES_ON;
}

static void write_rbp(struct path *p, const struct insn *i)
{
    uint8_t op = i->op[0];
    bool whole = i->rex & 8;
    bool from_rsp = (op == 0x89 && modrm_reg(i) == MACHINE_RSP) ||
                    (op == 0x8b && is_register_form(i) && modrm_rm(i) == MACHINE_RSP);
    if (whole && op == 0x8d) {
        p->fp_known = stack_operand(p, i, &p->fp);
        return;
    }
    p->fp_known = whole && from_rsp && p->sp_known;
    if (p->fp_known)
        p->fp = p->sp;
}

/* mov [rsp + N], rbx: gcc saves registers so too. */
static void store(struct path *p, const struct insn *i)
{
    struct place to;
    if (i->op[0] == 0x89 && i->rex & 8 && has_modrm(i) && stack_operand(p, i, &to))
        save(p, modrm_reg(i), &to);
}

/* Anything but jumps, calls and pushes. */
static enum path_effect compute(struct path *p, const struct insn *i)
{
    struct place from;
    int reg = written(i);
    bool load = reg >= 0 && i->op[0] == 0x8b && i->rex & 8;
    if (load && reg != MACHINE_RSP && stack_operand(p, i, &from)) {
        restore(p, (unsigned)reg, &from);
        return PATH_GOES_ON;
    }
    if (reg == MACHINE_RSP)
        return write_rsp(p, i);
    if (reg == MACHINE_RBP)
        write_rbp(p, i);
    if (reg >= 0)
        p->changed |= REG_BIT(dwarf_number[reg]);
    else
        store(p, i);
    return PATH_GOES_ON;
}

static enum path_effect group_ff(struct path *p, const struct insn *i)
{
    switch (i->op[1] >> 3 & 7) {
    case 2:
        return PATH_CALLS;
    case 6:
        p->sp.offset -= 8;
        return PATH_GOES_ON;
    case 0:
    case 1:
        return compute(p, i);
    default:
        return PATH_ENDS; /* where an indirect jump leads is not known */
    }
}

static enum path_effect two_byte(struct path *p, const struct insn *i)
{
    if (i->len < 2 || i->op[1] == 0x0b) /* ud2 */
        return PATH_ENDS;
    return (i->op[1] & 0xf0) == 0x80 ? PATH_BRANCHES : compute(p, i);
}

static enum path_effect leave(struct path *p)
{
    (void)rsp_from_rbp(p, 0);
    return pop(p, MACHINE_RBP);
}

enum path_effect path_apply(struct path *p, const struct insn *i)
{
    uint8_t op = i->op[0];
    bool stack_op = (op & 0xf0) == 0x50 || op == 0x68 || op == 0x6a || op == 0x9c || op == 0x9d;
    if (stack_op && i->short_operands)
        return PATH_ENDS;
    if ((op & 0xf8) == 0x50)
        return push(p, (op & 7U) | (i->rex & 1U) << 3);
    if ((op & 0xf8) == 0x58)
        return pop(p, (op & 7U) | (i->rex & 1U) << 3);
    if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0)
        return PATH_BRANCHES;
    if (stack_op) {
        p->sp.offset += op == 0x9d ? 8 : -8;
        return PATH_GOES_ON;
    }
    switch (op) {
    case 0x0f:
        return two_byte(p, i);
    case 0xc2:
    case 0xc3:
        return PATH_RETURNS;
    case 0xc9:
        return leave(p);
    case 0xe8:
        return PATH_CALLS;
    case 0xe9:
    case 0xeb:
        return PATH_JUMPS;
    case 0xff:
        return group_ff(p, i);
    case 0x8f: /* to memory; with other bits it is XOP's prefix */
        p->sp.offset += 8;
        return (i->op[1] & 0x38) == 0 ? PATH_GOES_ON : PATH_ENDS;
    case 0xc8: /* enter */
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xf4:
        return PATH_ENDS;
    default:
        return compute(p, i);
    }
}

uint64_t insn_jump_target(const struct insn *i)
{
    bool far = i->op[0] == 0xe9 || i->op[0] == 0x0f;
    return i->next + (uint64_t)last_operand(i, far ? 4 : 1);
}

uint16_t insn_return_pops(const struct insn *i)
{
    uint16_t popped = 0;
    if (i->op[0] == 0xc2)
        memcpy(&popped, i->op + 1, sizeof popped);
    return popped;
}

/* The immediate of mov eax, N, or of mov al, N behind what cleared it; else −1. */
int insn_loads_call_number(const struct insn *i)
{
    bool whole = i->op[0] == 0xb8 && i->len == 5 && !i->rex;
    bool by_rm = i->op[0] == 0xc7 && i->len == 6 && i->op[1] == 0xc0;
    bool low = i->op[0] == 0xb0 && i->len == 2;
    if (!whole && !by_rm && !low)
        return -1;
    return i->op[i->len - (low ? 1 : 4)];
}

bool insn_begins_function(const struct insn *i)
{
    bool nop = i->op[0] == 0x90 || (i->op[0] == 0x0f && i->len >= 2 && (i->op[1] & 0xfe) == 0x1e);
    return nop || (i->op[0] & 0xf8) == 0x50 || i->op[0] == 0x68 || i->op[0] == 0x6a;
}

bool insn_halts(const struct insn *i)
{
    return i->op[0] == 0xf4;
}

bool insn_calls_kernel(const struct insn *i)
{
    return i->op[0] == 0x0f && i->len == 2 && i->op[1] == 0x05;
}
