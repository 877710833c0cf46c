#include "unwinder/way_out.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "unwinder/insn.h"

enum {
    MAX_PATHS = 128,  /* that wait to be followed */
    MAX_INSNS = 4096, /* on all of them: OpenBLAS's kernels take a few hundred */
    MAX_FRAME = 1 << 26,
    WINDOW_BYTES = 512,
};

/* By the machine's numbering. */
enum { MACHINE_RSP = 4, MACHINE_RBP = 5 };
static const uint8_t dwarf_number[16] = {X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP,
                                         X86_RSI, X86_RDI, 8,       9,       10,      11,
                                         X86_R12, X86_R13, X86_R14, X86_R15};

/* A place relative to a register as it was at pc. */
struct place {
    uint8_t reg; /* X86_RSP or X86_RBP */
    int64_t offset;
};

/* A way, as far as it was followed. */
struct path {
    uint64_t at;
    unsigned calls; /* passed: one that never returns would lead astray, so the fewer the better */
    struct place rsp;
    struct place rbp;
    bool rbp_known;
    uint32_t restored; /* by DWARF number: from SLOTS */
    struct place slots[X86_COUNT];
    struct place pushed[X86_COUNT]; /* where the way itself put a register last */
};

struct search {
    code_reader read;
    void *ctx;
    uint64_t window_start;
    size_t window_len;
    uint8_t window[WINDOW_BYTES];
    struct map visited; /* address → where rsp is there */
    struct path paths[MAX_PATHS];
    size_t n;
    unsigned insns;
};

struct insn {
    const uint8_t *op; /* the opcode, behind prefixes */
    size_t len;        /* from there to the end */
    uint8_t rex;
    bool short_operands;
    uint64_t next;
};

enum effect { GO_ON, RETURNS, ENDS, CALLS, JUMPS, BRANCHES };

/* ---- instructions ---- */

/* As much code from S->window_start on as there is, WINDOW_BYTES at most. */
static void fill_window(struct search *s)
{
    s->window_len = 0;
    for (size_t step = WINDOW_BYTES; step; step /= 2)
        if (s->window_len + step <= WINDOW_BYTES &&
            s->read(s->ctx, s->window_start, s->window, s->window_len + step) == 0)
            s->window_len += step;
}

static const uint8_t *code_at(struct search *s, uint64_t at, size_t *ret_len)
{
    uint64_t in = at - s->window_start;
    if (in >= s->window_len || s->window_len - in < INSN_MAX_BYTES) {
        in = 0;
        s->window_start = at;
        fill_window(s);
    }
    *ret_len = s->window_len - in;
    return s->window + in;
}

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x3e;
}

static bool decode(struct search *s, uint64_t at, struct insn *ret)
{
    size_t len;
    const uint8_t *bytes = code_at(s, at, &len);
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
    int32_t value;
    if (len < sizeof value)
        return (bytes[0] ^ 0x80) - 0x80;
    memcpy(&value, bytes, sizeof value);
    return value;
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
    bool by_rsp = modrm_rm(i) == MACHINE_RSP && i->len >= 3 && i->op[2] == 0x24;
    bool by_rbp = modrm_rm(i) == MACHINE_RBP && mod != 0 && p->rbp_known;
    if (mod == 3 || !(by_rsp || by_rbp))
        return false;
    *ret = by_rsp ? p->rsp : p->rbp;
    ret->offset += disp ? last_operand(i, disp) : 0;
    return true;
}

static bool is_one_of(uint8_t op, const char *ops, size_t n)
{
    return memchr(ops, op, n) != NULL;
}

/* The register that the instruction writes, of those of which it can be told; else −1. */
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

static void restore(struct path *p, unsigned machine_reg, const struct place *from)
{
    uint8_t reg = dwarf_number[machine_reg];
    p->restored |= 1U << reg;
    p->slots[reg] = *from;
    if (reg == X86_RBP)
        p->rbp_known = false;
}

/* Is the word at rsp the return address for sure: that above the caller's rbp in a frame record? */
static bool is_at_return_address(const struct path *p)
{
    const struct place *rbp = &p->slots[X86_RBP];
    return p->restored & 1U << X86_RBP && rbp->reg == X86_RBP && rbp->offset == 0 &&
           p->rsp.reg == X86_RBP && p->rsp.offset == 8;
}

static enum effect pop(struct path *p, unsigned machine_reg)
{
    if (machine_reg == MACHINE_RSP)
        return ENDS;
    /* V8's functions hold it in a register while they take as many arguments off the stack as there are. */
    if (is_at_return_address(p))
        return RETURNS;
    restore(p, machine_reg, &p->rsp);
    p->rsp.offset += 8;
    return GO_ON;
}

static enum effect push(struct path *p, unsigned machine_reg)
{
    p->rsp.offset -= 8;
    p->pushed[dwarf_number[machine_reg]] = p->rsp;
    return GO_ON;
}

static enum effect rsp_from_rbp(struct path *p, int64_t offset)
{
    if (!p->rbp_known)
        return ENDS;
    p->rsp = p->rbp;
    p->rsp.offset += offset;
    return GO_ON;
}

/* An instruction whose result goes to rsp. */
static enum effect write_rsp(struct path *p, const struct insn *i)
{
    uint8_t op = i->op[0];
    unsigned extension = i->op[1] >> 3 & 7;
    if (!(i->rex & 8))
        return ENDS;
    if ((op == 0x81 || op == 0x83) && (extension == 0 || extension == 5)) {
        int64_t by = last_operand(i, op == 0x83 ? 1 : 4);
        p->rsp.offset += extension == 0 ? by : -by;
        return GO_ON;
    }
    if (op == 0x8d)
        return stack_operand(p, i, &p->rsp) ? GO_ON : ENDS;
    bool from_rbp = (op == 0x89 && modrm_reg(i) == MACHINE_RBP) ||
                    (op == 0x8b && is_register_form(i) && modrm_rm(i) == MACHINE_RBP);
    return from_rbp ? rsp_from_rbp(p, 0) : ENDS;
}

static void write_rbp(struct path *p, const struct insn *i)
{
    uint8_t op = i->op[0];
    bool from_rsp =
        i->rex & 8 && ((op == 0x89 && modrm_reg(i) == MACHINE_RSP) ||
                       (op == 0x8b && is_register_form(i) && modrm_rm(i) == MACHINE_RSP));
    p->rbp_known = from_rsp;
    if (from_rsp)
        p->rbp = p->rsp;
}

/* Anything but jumps, calls and pushes. */
static enum effect compute(struct path *p, const struct insn *i)
{
    struct place from;
    int reg = written(i);
    bool load = reg >= 0 && i->op[0] == 0x8b && i->rex & 8;
    if (load && reg != MACHINE_RSP && stack_operand(p, i, &from))
        restore(p, (unsigned)reg, &from);
    else if (reg == MACHINE_RSP)
        return write_rsp(p, i);
    else if (reg == MACHINE_RBP)
        write_rbp(p, i);
    return GO_ON;
}

static enum effect group_ff(struct path *p, const struct insn *i)
{
    switch (i->op[1] >> 3 & 7) {
    case 2:
        return CALLS;
    case 6:
        p->rsp.offset -= 8;
        return GO_ON;
    case 0:
    case 1:
        return compute(p, i);
    default:
        return ENDS; /* where an indirect jump leads is not known */
    }
}

static enum effect two_byte(struct path *p, const struct insn *i)
{
    if (i->len < 2 || i->op[1] == 0x0b) /* ud2 */
        return ENDS;
    return (i->op[1] & 0xf0) == 0x80 ? BRANCHES : compute(p, i);
}

static enum effect leave(struct path *p)
{
    enum effect e = rsp_from_rbp(p, 0);
    return e == GO_ON ? pop(p, MACHINE_RBP) : e;
}

static enum effect apply(struct path *p, const struct insn *i)
{
    uint8_t op = i->op[0];
    bool stack_op = (op & 0xf0) == 0x50 || op == 0x68 || op == 0x6a || op == 0x9c || op == 0x9d;
    if (stack_op && i->short_operands)
        return ENDS;
    if ((op & 0xf8) == 0x50)
        return push(p, (op & 7U) | (i->rex & 1U) << 3);
    if ((op & 0xf8) == 0x58)
        return pop(p, (op & 7U) | (i->rex & 1U) << 3);
    if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0)
        return BRANCHES;
    if (stack_op) {
        p->rsp.offset += op == 0x9d ? 8 : -8;
        return GO_ON;
    }
    switch (op) {
    case 0x0f:
        return two_byte(p, i);
    case 0xc2:
    case 0xc3:
        return RETURNS;
    case 0xc9:
        return leave(p);
    case 0xe8:
        return CALLS;
    case 0xe9:
    case 0xeb:
        return JUMPS;
    case 0xff:
        return group_ff(p, i);
    case 0x8f: /* to memory; with other bits it is XOP's prefix */
        p->rsp.offset += 8;
        return (i->op[1] & 0x38) == 0 ? GO_ON : ENDS;
    case 0xc8: /* enter */
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcf:
    case 0xf4:
        return ENDS;
    default:
        return compute(p, i);
    }
}

static uint64_t jump_target(const struct insn *i)
{
    bool far = i->op[0] == 0xe9 || i->op[0] == 0x0f;
    return i->next + (uint64_t)last_operand(i, far ? 4 : 1);
}

/* ---- the search ---- */

static int add_path(struct search *s, const struct path *p)
{
    if (s->n == MAX_PATHS)
        return -ENOENT;
    s->paths[s->n++] = *p;
    return 0;
}

static struct path take_path(struct search *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->n; i++)
        if (s->paths[i].calls < s->paths[best].calls)
            best = i;
    struct path p = s->paths[best];
    s->paths[best] = s->paths[--s->n];
    return p;
}

/* Has the place been met before?  Then rsp must be the same there: else -ENOENT. */
static int visit(struct search *s, const struct path *p)
{
    uint64_t now = (uint64_t)p->rsp.offset << 8 | p->rsp.reg;
    uint64_t before;
    if (map_get(&s->visited, p->at, &before))
        return before == now ? 1 : -ENOENT;
    map_put(&s->visited, p->at, now);
    return 0;
}

/* What the caller's REG is, at the end of P.  What lies below rsp at its start is what the way itself has put there, if
 * anything: a word there is of the past. */
static struct value_rule value_of(const struct path *p, int reg)
{
    const struct place *slot = &p->slots[reg];
    const struct place *pushed = &p->pushed[reg];
    struct value_rule undefined = {VALUE_UNDEFINED, 0, 0, 0};
    struct value_rule same = {VALUE_SAME, 0, 0, 0};
    if (!(p->restored & 1U << reg))
        return same;
    if (slot->reg == X86_RSP && slot->offset < 0)
        return pushed->reg == slot->reg && pushed->offset == slot->offset ? same : undefined;
    if (slot->offset != (int32_t)slot->offset)
        return undefined;
    return (struct value_rule){VALUE_AT_REG, slot->reg, 0, (int32_t)slot->offset};
}

/* P is at a return instruction that takes POPPED more bytes off the stack. */
static int make_rule(const struct path *p, uint16_t popped, struct rule *ret)
{
    if (p->rsp.offset < 0 || p->rsp.offset > MAX_FRAME)
        return -ENOENT;
    int32_t top = (int32_t)p->rsp.offset;
    struct rule rule = {.cfa = {VALUE_REG, p->rsp.reg, 0, top + 8}};
    for (int reg = 0; reg < X86_COUNT; reg++) {
        bool saved = reg == X86_RBX || reg == X86_RBP || (reg >= X86_R12 && reg <= X86_R15);
        if (!saved)
            continue;
        rule.values[reg] = value_of(p, reg);
        rule.same |= (uint32_t)(rule.values[reg].kind == VALUE_SAME) << reg;
        rule.restored |= (uint32_t)(rule.values[reg].kind == VALUE_AT_REG) << reg;
    }
    rule.values[X86_RSP] = (struct value_rule){VALUE_CFA, 0, 0, popped};
    rule.values[X86_PC] = (struct value_rule){VALUE_AT_CFA, 0, 0, -8};
    rule.restored |= 1U << X86_RSP | 1U << X86_PC;
    *ret = rule;
    return 0;
}

/* Follows P to its end.  Returns 0 and the rule; 1: it ends, or waits among the others; -ENOENT. */
static int follow(struct search *s, struct path *p, struct rule *ret)
{
    for (;;) {
        struct insn i;
        int r = visit(s, p);
        if (r)
            return r;
        if (++s->insns > MAX_INSNS)
            return -ENOENT;
        if (!decode(s, p->at, &i))
            return 1;
        uint16_t popped = 0;
        struct path branch;
        switch (apply(p, &i)) {
        case GO_ON:
            p->at = i.next;
            break;
        case JUMPS:
            p->at = jump_target(&i);
            break;
        case BRANCHES:
            branch = *p;
            branch.at = jump_target(&i);
            p->at = i.next;
            if (add_path(s, &branch) < 0)
                return -ENOENT;
            break;
        case CALLS:
            p->at = i.next;
            p->calls++;
            return add_path(s, p) < 0 ? -ENOENT : 1;
        case RETURNS:
            if (i.op[0] == 0xc2)
                memcpy(&popped, i.op + 1, sizeof popped);
            return make_rule(p, popped, ret);
        case ENDS:
            return 1;
        }
    }
}

int way_out_find(code_reader read, void *ctx, uint64_t pc, struct rule *ret)
{
    struct search s = {.read = read, .ctx = ctx};
    struct path start = {.at = pc, .rsp = {X86_RSP, 0}, .rbp = {X86_RBP, 0}, .rbp_known = true};
    int r = add_path(&s, &start);
    while (r >= 0 && s.n) {
        struct path p = take_path(&s);
        r = follow(&s, &p, ret);
        if (r == 0)
            break;
    }
    map_release(&s.visited);
    return r == 0 ? 0 : -ENOENT;
}
