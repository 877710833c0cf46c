/* Code that no CFI covers: what its instructions say, and where a stack begins. */
#include <errno.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "unwinder/code.h"
#include "unwinder/walk.h"

/* The destination of a call. */
struct callee_known {
    enum callee callee;
    uint64_t target;
    bool jumps_on; /* from there to somewhere else, perhaps */
};

static struct callee_known find_callee(struct walk *w, uint64_t return_addr, uint64_t near)
{
    struct callee_known ret = {0};
    ret.callee = code_callee(w->modules, return_addr, near, &ret.target);
    if (ret.callee == CALLEE_AT)
        ret.jumps_on =
            code_jumps_on(w->modules, ret.target, walk_rule(w, ret.target, false)->function_bytes);
    return ret;
}

/* The same, remembered for each module, because it depends on the module. */
static struct callee_known callee_of(struct walk *w, uint64_t return_addr, uint64_t near)
{
    enum { KIND_BITS = 2, MAX_KNOWN = 1 << 16, MODULE_SHIFT = 48, CALLEE_WORK = 256 };
    const struct module *module = modules_find(w->modules, near);
    /* Not below 2^48, where walk_recover_fp()'s are: of modules beyond nothing is remembered. */
    uint64_t of_module = module ? module->id + UINT64_C(2) : 1;
    bool fits = of_module >> (64 - MODULE_SHIFT) == 0;
    uint64_t key = return_addr ^ of_module << MODULE_SHIFT;
    uint64_t known;
    if (!fits || !map_get(w->call_targets, key, &known)) {
        struct callee_known found = find_callee(w, return_addr, near);
        known = (found.target << 1 | found.jumps_on) << KIND_BITS | found.callee;
        w->work += found.callee == CALLEE_ANY ? 0 : CALLEE_WORK; /* a file's relocations */
        if (w->call_targets->n >= MAX_KNOWN)
            map_clear(w->call_targets);
        if (fits)
            map_put(w->call_targets, key, known);
    }
    return (struct callee_known){
        .callee = (enum callee)(known & ((1U << KIND_BITS) - 1)),
        .target = known >> (KIND_BITS + 1),
        .jumps_on = known >> KIND_BITS & 1,
    };
}

enum call_target_check walk_may_enter(struct walk *w, uint64_t return_addr, uint64_t pc,
                                      uint64_t entry)
{
    enum { MAX_FUNCTION_BYTES = 1 << 20 };
    struct callee_known c = callee_of(w, return_addr, pc);
    if (c.callee == CALLEE_NONE)
        return CALL_ELSEWHERE;
    if (c.callee == CALLEE_ANY)
        return CALL_UNKNOWN;
    if (entry && c.target == entry)
        return CALL_TO_IT;
    bool before = !entry && c.target <= pc && pc - c.target < MAX_FUNCTION_BYTES;
    bool is_cfi = walk_rule(w, c.target, false)->found;
    return (before && !is_cfi) || c.jumps_on ? CALL_UNKNOWN : CALL_ELSEWHERE;
}

/* Does code at PC continue there, after a call or a signal? */
static bool is_returned_to(struct walk *w, uint64_t pc)
{
    uint64_t ignored;
    return walk_call(w, pc, &ignored) != CALL_NONE || walk_rule(w, pc, false)->rule->is_signal;
}

/* Applies RULE, made from instructions, to the last frame.  Returns 0; -ENOENT: it leads
 * nowhere; -ENODATA. */
static int apply(struct walk *w, const struct rule *rule, struct regs *caller)
{
    struct native_frame *f = walk_last(w);
    int r = rule_apply(rule, &f->regs, &w->view, &f->cfa, caller);
    if (r == 0 && caller->r[REG_SP] > f->sp && is_returned_to(w, caller->r[REG_PC]))
        return 0;
    f->cfa = 0;
    return r == -ENODATA ? r : -ENOENT;
}

/* WORD at ADDR follows a direct call to code before the last frame's pc.  Does the path from
 * there to pc say that the return address lies at ADDR? */
static bool is_called_from(struct walk *w, struct cached_rule *cached, uint64_t addr, uint64_t word,
                           struct regs *caller)
{
    enum { MAX_DISTANCE = 1 << 16 };
    const struct native_frame *f = walk_last(w);
    uint64_t target;
    if (walk_call(w, word, &target) != CALL_DIRECT || target > f->pc ||
        f->pc - target >= MAX_DISTANCE || walk_rule(w, target, false)->found)
        return false;
    struct rule from_entry;
    if (rule_cache_insn_from_entry(w->rules, target, f->pc, &from_entry) == 0 &&
        apply(w, &from_entry, caller) == 0 && walk_last(w)->cfa == addr + sizeof word) {
        rule_cache_keep_from_entry(w->rules, cached, target, &from_entry);
        return true;
    }
    walk_last(w)->cfa = 0;
    cached->entries_tried++;
    return false;
}

/* Looks for the call that led to the last frame's function, which has no symbol. */
static bool find_call(struct walk *w, struct cached_rule *cached, struct regs *caller)
{
    enum { MAX_SCAN_BYTES = 1 << 14, MAX_ENTRIES = 8 };
    const uint64_t start = walk_last(w)->sp & ~UINT64_C(7);
    for (uint64_t addr = start; addr - start < MAX_SCAN_BYTES && !walk_is_costly(w); addr += 8) {
        uint64_t word;
        w->work++;
        if (cached->entries_tried >= MAX_ENTRIES || stack_view_u64(&w->view, addr, &word) < 0)
            return false;
        if (is_called_from(w, cached, addr, word, caller))
            return true;
    }
    return false;
}

/* Does the rule that is usual in the last frame's function lead to a call that may lead here? */
static bool is_usual(struct walk *w, const struct cached_rule *cached, struct regs *caller)
{
    const struct native_frame *f = walk_last(w);
    struct rule rule;
    return rule_cache_usual(w->rules, cached, &rule) == 0 && apply(w, &rule, caller) == 0 &&
           walk_may_enter(w, caller->r[REG_PC], f->pc, cached->entry) != CALL_ELSEWHERE;
}

/* Does the path from where the last frame's function seems to begin lead to a call that may lead
 * here? */
static bool seems_to_begin(struct walk *w, const struct cached_rule *cached, struct regs *caller)
{
    const struct native_frame *f = walk_last(w);
    struct rule rule;
    return cached->begin &&
           rule_cache_insn_from_entry(w->rules, cached->begin, f->pc, &rule) == 0 &&
           apply(w, &rule, caller) == 0 &&
           walk_may_enter(w, caller->r[REG_PC], f->pc, 0) != CALL_ELSEWHERE;
}

/* Looks for the caller of the last frame, whose instructions lead nowhere, or to a call of
 * another function. */
static bool find_other(struct walk *w, struct cached_rule *cached, struct regs *caller)
{
    if (cached->entry)
        return is_usual(w, cached, caller);
    return find_call(w, cached, caller) || seems_to_begin(w, cached, caller);
}

/* Where F's function begins by the call before RETURN_ADDR, if it leads there; 0: unknown. */
static uint64_t begin_by_call(struct walk *w, const struct native_frame *f, uint64_t return_addr)
{
    enum { MAX_FUNCTION_BYTES = 1 << 16 };
    uint64_t target;
    bool direct = walk_call(w, return_addr, &target) == CALL_DIRECT && target <= f->pc &&
                  f->pc - target < MAX_FUNCTION_BYTES;
    return direct && !walk_rule(w, target, false)->found ? target : 0;
}

bool walk_by_code(struct walk *w, struct cached_rule *cached, struct regs *caller)
{
    struct native_frame *f = walk_last(w);
    int r = -ENOENT;
    if (rule_cache_insn_unwind(w->rules, cached, f->pc))
        r = apply(w, cached->rule, caller);
    bool doubtful =
        r < 0 || walk_may_enter(w, caller->r[REG_PC], f->pc, cached->entry) == CALL_ELSEWHERE;
    struct regs other;
    uint64_t cfa = f->cfa;
    if (doubtful && find_other(w, cached, &other)) {
        *caller = other;
        return true;
    }
    f->cfa = cfa;
    w->out->lacked_registers |= r == -ENODATA;
    if (r == 0 && !f->begin)
        f->begin = begin_by_call(w, f, caller->r[REG_PC]);
    return r == 0;
}

bool walk_is_unmapped(struct walk *w, const struct native_frame *f)
{
    const struct mapping *m = maps_find(modules_maps(w->modules), f->pc - f->is_call);
    return !m || !(m->prot & PROT_EXEC);
}

/* Is the last frame, of code where a process begins, the first one?  Libraries name an entry
 * too, which may be any code.  At its sp lies what execve(2) left there: argc, and argv with its
 * end (psABI §3.4.1). */
static bool is_process_start(struct walk *w, const struct native_frame *f)
{
    enum { WORD = sizeof(uint64_t), MAX_ARGS = 1 << 20 };
    uint64_t argc;
    uint64_t first;
    uint64_t end;
    return stack_view_u64(&w->view, f->sp, &argc) == 0 && argc > 0 && argc < MAX_ARGS &&
           stack_view_u64(&w->view, f->sp + WORD, &first) == 0 && first > f->sp &&
           stack_view_u64(&w->view, f->sp + WORD * (argc + 1), &end) == 0 && end == 0;
}

bool walk_is_root(struct walk *w, struct cached_rule *cached)
{
    struct native_frame *f = walk_last(w);
    if (cached->at_entry && is_process_start(w, f))
        return true;
    if (!f->is_call)
        return false;
    if (cached->found && cached->rule->is_signal)
        return false;
    bool planted = rule_cache_is_planted(w->rules, cached, f->pc);
    f->is_call &= !planted; /* its own name is that at pc */
    return planted || (!cached->found && rule_cache_is_exit(w->rules, cached, f->pc));
}
