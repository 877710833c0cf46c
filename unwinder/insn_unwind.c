#include "unwinder/insn_unwind.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

enum {
    MAX_PATHS = 128,  /* that wait to be followed */
    MAX_INSNS = 4096, /* on all of them: OpenBLAS's kernels take a few hundred */
    MAX_FRAME = 1 << 26,
    MAX_DEPTHS = 8, /* of rsp, that are counted: the body's, those of pushes before, a few more */
};

/* How many instructions have rsp OFFSET above where it began, and the first path that came there.
 */
struct depth {
    int64_t offset;
    unsigned n;
    struct path first;
};

struct insn_search {
    struct code_window code;
    uint64_t goal;      /* where paths are to lead; NO_GOAL: to a return instruction */
    struct map visited; /* address → where rsp is there */
    struct path paths[MAX_PATHS];
    size_t n;
    unsigned insns;
    struct depth depths[MAX_DEPTHS];
    size_t n_depths;
};
#define NO_GOAL UINT64_MAX

static int add_path(struct insn_search *s, const struct path *p)
{
    if (s->n == MAX_PATHS)
        return -ENOENT;
    s->paths[s->n++] = *p;
    return 0;
}

static struct path take_path(struct insn_search *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->n; i++)
        if (s->paths[i].calls < s->paths[best].calls)
            best = i;
    struct path p = s->paths[best];
    s->paths[best] = s->paths[--s->n];
    return p;
}

/* Was the place met before?  Then rsp, where it is known, must be the same as then: else returns
 * -ENOENT. */
static int visit(struct insn_search *s, const struct path *p)
{
    const uint64_t unknown = UINT64_MAX;
    uint64_t now = p->rsp_known ? (uint64_t)p->rsp.offset << 8 | p->rsp.reg : unknown;
    uint64_t before;
    if (map_get(&s->visited, p->at, &before))
        return before == now || before == unknown || now == unknown ? 1 : -ENOENT;
    map_put(&s->visited, p->at, now);
    return 0;
}

static void count_depth(struct insn_search *s, const struct path *p)
{
    size_t i = 0;
    if (!p->rsp_known || p->rsp.reg != X86_RSP)
        return;
    while (i < s->n_depths && s->depths[i].offset != p->rsp.offset)
        i++;
    if (i == MAX_DEPTHS)
        return;
    if (i == s->n_depths)
        s->depths[s->n_depths++] = (struct depth){p->rsp.offset, 0, *p};
    s->depths[i].n++;
}

/* Writes the operand of the return instruction I: the bytes that it pops behind the return
 * address. */
static int return_from(const struct insn_search *s, const struct insn *i, uint16_t *popped)
{
    *popped = 0;
    if (i->op[0] == 0xc2)
        memcpy(popped, i->op + 1, sizeof *popped);
    return s->goal == NO_GOAL ? 0 : 1;
}

/* Follows P to its end.  Returns 0: it came to the goal, or to a return instruction, which takes
 * POPPED more bytes off the stack; 1: it ends elsewhere, or waits among the others; -ENOENT. */
static int follow(struct insn_search *s, struct path *p, uint16_t *popped)
{
    for (;;) {
        struct insn i;
        if (p->at == s->goal)
            return 0;
        int r = visit(s, p);
        if (r)
            return r;
        if (++s->insns > MAX_INSNS)
            return -ENOENT;
        count_depth(s, p);
        if (!code_window_decode(&s->code, p->at, &i))
            return 1;
        struct path branch;
        switch (path_apply(p, &i)) {
        case PATH_GOES_ON:
            p->at = i.next;
            break;
        case PATH_JUMPS:
            p->at = insn_jump_target(&i);
            break;
        case PATH_BRANCHES:
            branch = *p;
            branch.at = insn_jump_target(&i);
            p->at = i.next;
            if (add_path(s, &branch) < 0)
                return -ENOENT;
            break;
        case PATH_CALLS:
            p->at = i.next;
            p->calls++;
            return add_path(s, p) < 0 ? -ENOENT : 1;
        case PATH_RETURNS:
            return return_from(s, &i, popped);
        case PATH_ENDS:
            return 1;
        }
    }
}

/* The first path from START to the goal.  Returns 0 or -ENOENT. */
static int search(struct insn_search *s, uint64_t start, struct path *ret, uint16_t *popped)
{
    struct path first = path_begin(start);
    int r = add_path(s, &first);
    while (r >= 0 && s->n) {
        *ret = take_path(s);
        r = follow(s, ret, popped);
        if (r == 0)
            break;
    }
    map_release(&s->visited);
    return r == 0 ? 0 : -ENOENT;
}

static int find_path(code_reader read, void *ctx, uint64_t start, uint64_t goal, struct path *ret,
                     uint16_t *popped)
{
    struct insn_search s = {.code = {.read = read, .ctx = ctx}, .goal = goal};
    return search(&s, start, ret, popped);
}

static bool is_callee_saved(int reg)
{
    return reg == X86_RBX || reg == X86_RBP || (reg >= X86_R12 && reg <= X86_R15);
}

/* ---- out ---- */

/* The rule for the caller's REG at the end of P.  A slot below rsp as it was at P's start counts
 * only if P itself wrote it: any other word there is left over. */
static struct value_rule restored_value(const struct path *p, int reg)
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
static int rule_of_return(const struct path *p, uint16_t popped, struct rule *ret)
{
    if (!p->rsp_known || p->rsp.offset < 0 || p->rsp.offset > MAX_FRAME)
        return -ENOENT;
    int32_t top = (int32_t)p->rsp.offset;
    struct rule rule = {.cfa = {VALUE_REG, p->rsp.reg, 0, top + 8}};
    for (int reg = 0; reg < X86_COUNT; reg++) {
        if (!is_callee_saved(reg))
            continue;
        rule.values[reg] = restored_value(p, reg);
        rule.preserved |= (uint32_t)(rule.values[reg].kind == VALUE_SAME) << reg;
        rule.saved |= (uint32_t)(rule.values[reg].kind == VALUE_AT_REG) << reg;
    }
    rule.values[X86_RSP] = (struct value_rule){VALUE_CFA, 0, 0, popped};
    rule.values[X86_PC] = (struct value_rule){VALUE_AT_CFA, 0, 0, -8};
    rule.saved |= 1U << X86_RSP | 1U << X86_PC;
    *ret = rule;
    return 0;
}

int insn_unwind_to_return(code_reader read, void *ctx, uint64_t pc, struct rule *ret)
{
    struct path p;
    uint16_t popped;
    int r = find_path(read, ctx, pc, NO_GOAL, &p, &popped);
    return r < 0 ? r : rule_of_return(&p, popped, ret);
}

/* ---- in ---- */

/* The rule for the caller's REG where P, which began with the function, has arrived. */
static struct value_rule saved_value(const struct path *p, int reg)
{
    if (p->saved & 1U << reg) {
        int64_t offset = p->saved_at[reg].offset - 8;
        if (p->saved_at[reg].reg == X86_RSP && offset == (int32_t)offset)
            return (struct value_rule){VALUE_AT_CFA, 0, 0, (int32_t)offset};
        return (struct value_rule){VALUE_UNDEFINED, 0, 0, 0};
    }
    bool changed = p->changed & 1U << reg;
    return (struct value_rule){changed ? VALUE_UNDEFINED : VALUE_SAME, 0, 0, 0};
}

/* The register that gives the CFA: rsp, or rbp where rsp was lowered by an unknown amount. */
static int cfa_of_entry(const struct path *p, struct value_rule *ret)
{
    bool by_rsp = p->rsp_known && p->rsp.reg == X86_RSP;
    bool by_rbp = p->rbp_known && p->rbp.reg == X86_RSP;
    const struct place *from = by_rsp ? &p->rsp : &p->rbp;
    if ((!by_rsp && !by_rbp) || from->offset > 0 || from->offset < -MAX_FRAME)
        return -ENOENT;
    *ret =
        (struct value_rule){VALUE_REG, by_rsp ? X86_RSP : X86_RBP, 0, (int32_t)(8 - from->offset)};
    return 0;
}

/* P came from a function's first instruction. */
static int rule_of_entry(const struct path *p, struct rule *ret)
{
    struct rule rule = {0};
    if (cfa_of_entry(p, &rule.cfa) < 0)
        return -ENOENT;
    for (int reg = 0; reg < X86_COUNT; reg++) {
        if (!is_callee_saved(reg))
            continue;
        rule.values[reg] = saved_value(p, reg);
        rule.preserved |= (uint32_t)(rule.values[reg].kind == VALUE_SAME) << reg;
        rule.saved |= (uint32_t)(rule.values[reg].kind == VALUE_AT_CFA) << reg;
    }
    rule.values[X86_RSP] = (struct value_rule){VALUE_CFA, 0, 0, 0};
    rule.values[X86_PC] = (struct value_rule){VALUE_AT_CFA, 0, 0, -8};
    rule.saved |= 1U << X86_RSP | 1U << X86_PC;
    *ret = rule;
    return 0;
}

int insn_unwind_from_entry(code_reader read, void *ctx, uint64_t start, uint64_t pc,
                           struct rule *ret)
{
    struct path p;
    uint16_t popped;
    if (find_path(read, ctx, start, pc, &p, &popped) < 0)
        return -ENOENT;
    return rule_of_entry(&p, ret);
}

int insn_unwind_usual(code_reader read, void *ctx, uint64_t start, struct rule *ret)
{
    struct insn_search s = {.code = {.read = read, .ctx = ctx}, .goal = NO_GOAL - 1};
    struct path p;
    uint16_t popped;
    const struct depth *most = NULL;
    unsigned all = 0;
    (void)search(&s, start, &p, &popped);
    for (size_t i = 0; i < s.n_depths; i++) {
        all += s.depths[i].n;
        if (!most || s.depths[i].n > most->n)
            most = &s.depths[i];
    }
    return most && most->n > all / 2 ? rule_of_entry(&most->first, ret) : -ENOENT;
}

/* ---- nowhere ---- */

/* The immediate of mov eax, N, or of mov al, N behind what cleared it; else −1. */
static int loads_call_number(const struct insn *i)
{
    bool whole = i->op[0] == 0xb8 && i->len == 5 && !i->rex;
    bool by_rm = i->op[0] == 0xc7 && i->len == 6 && i->op[1] == 0xc0;
    bool low = i->op[0] == 0xb0 && i->len == 2;
    if (!whole && !by_rm && !low)
        return -1;
    return i->op[i->len - (low ? 1 : 4)];
}

/* Does I begin another function, as behind a call that never returns: padding, endbr64, push? */
static bool begins_function(const struct insn *i)
{
    bool nop = i->op[0] == 0x90 || (i->op[0] == 0x0f && i->len >= 2 && (i->op[1] & 0xfe) == 0x1e);
    return nop || (i->op[0] & 0xf8) == 0x50 || i->op[0] == 0x68 || i->op[0] == 0x6a;
}

bool insn_unwind_is_exit(code_reader read, void *ctx, uint64_t pc)
{
    enum { MAX_STEPS = 16, HLT = 0xf4, SYSCALL = 0x05, NR_EXIT = 60, NR_EXIT_GROUP = 231 };
    struct code_window code = {.read = read, .ctx = ctx};
    struct path p = path_begin(pc);
    struct insn i;
    int number = -1;
    for (unsigned n = 0; n < MAX_STEPS && code_window_decode(&code, p.at, &i); n++) {
        int loaded = loads_call_number(&i);
        if (i.op[0] == HLT)
            return true;
        if (i.op[0] == 0x0f && i.len == 2 && i.op[1] == SYSCALL)
            return number == NR_EXIT || number == NR_EXIT_GROUP;
        enum path_effect effect = path_apply(&p, &i);
        if (effect == PATH_RETURNS || effect == PATH_ENDS || effect == PATH_JUMPS ||
            begins_function(&i))
            return false;
        number = loaded >= 0 ? loaded : number;
        p.at = i.next;
    }
    return false;
}
