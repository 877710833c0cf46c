#include "unwinder/insn_unwind.h"

#include <errno.h>
#include <sys/syscall.h>

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
    uint64_t now = p->sp_known ? (uint64_t)p->sp.offset << 8 | p->sp.reg : unknown;
    uint64_t before;
    if (map_get(&s->visited, p->at, &before))
        return before == now || before == unknown || now == unknown ? 1 : -ENOENT;
    map_put(&s->visited, p->at, now);
    return 0;
}

static void count_depth(struct insn_search *s, const struct path *p)
{
    size_t i = 0;
    if (!p->sp_known || p->sp.reg != REG_SP)
        return;
    while (i < s->n_depths && s->depths[i].offset != p->sp.offset)
        i++;
    if (i == MAX_DEPTHS)
        return;
    if (i == s->n_depths)
        s->depths[s->n_depths++] = (struct depth){p->sp.offset, 0, *p};
    s->depths[i].n++;
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
            *popped = insn_return_pops(&i);
            return s->goal == NO_GOAL ? 0 : 1;
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
    return REGS_PRESERVED >> reg & 1;
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
    if (!(p->restored & REG_BIT(reg)))
        return same;
    if (slot->reg == REG_SP && slot->offset < 0)
        return pushed->reg == slot->reg && pushed->offset == slot->offset ? same : undefined;
    if (slot->offset != (int32_t)slot->offset)
        return undefined;
    return (struct value_rule){VALUE_AT_REG, slot->reg, 0, (int32_t)slot->offset};
}

/* P is at a return instruction that takes POPPED more bytes off the stack. */
static int rule_of_return(const struct path *p, uint16_t popped, struct rule *ret)
{
    if (!p->sp_known || p->sp.offset < 0 || p->sp.offset > MAX_FRAME)
        return -ENOENT;
    int32_t top = (int32_t)p->sp.offset;
    struct rule rule = {.cfa = {VALUE_REG, p->sp.reg, 0, top + 8}};
    for (int reg = 0; reg < REG_COUNT; reg++) {
        if (!is_callee_saved(reg))
            continue;
        rule.values[reg] = restored_value(p, reg);
        rule.preserved |= (reg_set)(rule.values[reg].kind == VALUE_SAME) << reg;
        rule.saved |= (reg_set)(rule.values[reg].kind == VALUE_AT_REG) << reg;
    }
    rule.values[REG_SP] = (struct value_rule){VALUE_CFA, 0, 0, popped};
    rule.values[REG_PC] = (struct value_rule){VALUE_AT_CFA, 0, 0, -8};
    rule.saved |= REG_BIT(REG_SP) | REG_BIT(REG_PC);
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
    if (p->saved & REG_BIT(reg)) {
        int64_t offset = p->saved_at[reg].offset - 8;
        if (p->saved_at[reg].reg == REG_SP && offset == (int32_t)offset)
            return (struct value_rule){VALUE_AT_CFA, 0, 0, (int32_t)offset};
        return (struct value_rule){VALUE_UNDEFINED, 0, 0, 0};
    }
    bool changed = p->changed & REG_BIT(reg);
    return (struct value_rule){changed ? VALUE_UNDEFINED : VALUE_SAME, 0, 0, 0};
}

/* The register that gives the CFA: rsp, or rbp where rsp was lowered by an unknown amount. */
static int cfa_of_entry(const struct path *p, struct value_rule *ret)
{
    bool by_rsp = p->sp_known && p->sp.reg == REG_SP;
    bool by_rbp = p->fp_known && p->fp.reg == REG_SP;
    const struct place *from = by_rsp ? &p->sp : &p->fp;
    if ((!by_rsp && !by_rbp) || from->offset > 0 || from->offset < -MAX_FRAME)
        return -ENOENT;
    *ret = (struct value_rule){VALUE_REG, by_rsp ? REG_SP : REG_FP, 0, (int32_t)(8 - from->offset)};
    return 0;
}

/* P came from a function's first instruction. */
static int rule_of_entry(const struct path *p, struct rule *ret)
{
    struct rule rule = {0};
    if (cfa_of_entry(p, &rule.cfa) < 0)
        return -ENOENT;
    for (int reg = 0; reg < REG_COUNT; reg++) {
        if (!is_callee_saved(reg))
            continue;
        rule.values[reg] = saved_value(p, reg);
        rule.preserved |= (reg_set)(rule.values[reg].kind == VALUE_SAME) << reg;
        rule.saved |= (reg_set)(rule.values[reg].kind == VALUE_AT_CFA) << reg;
    }
    rule.values[REG_SP] = (struct value_rule){VALUE_CFA, 0, 0, 0};
    rule.values[REG_PC] = (struct value_rule){VALUE_AT_CFA, 0, 0, -8};
    rule.saved |= REG_BIT(REG_SP) | REG_BIT(REG_PC);
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

bool insn_unwind_is_exit(code_reader read, void *ctx, uint64_t pc)
{
    enum { MAX_STEPS = 16 };
    struct code_window code = {.read = read, .ctx = ctx};
    struct path p = path_begin(pc);
    struct insn i;
    int number = -1;
    for (unsigned n = 0; n < MAX_STEPS && code_window_decode(&code, p.at, &i); n++) {
        int loaded = insn_loads_call_number(&i);
        if (insn_halts(&i))
            return true;
        if (insn_calls_kernel(&i))
            return number == SYS_exit || number == SYS_exit_group;
        enum path_effect effect = path_apply(&p, &i);
        if (effect == PATH_RETURNS || effect == PATH_ENDS || effect == PATH_JUMPS ||
            insn_begins_function(&i))
            return false;
        number = loaded >= 0 ? loaded : number;
        p.at = i.next;
    }
    return false;
}
