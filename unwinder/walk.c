#include "unwinder/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/code.h"

/* Switches between stacks: signal handlers on alternate stacks within each other, coroutines.
 * More than a few do not occur.  A hostile stack that leads back to itself ends here. */
enum { MAX_STACK_SWITCHES = 8 };
/* Trials within trials: one for each stretch of code without CFI. */
enum { MAX_NESTED_TRIALS = 4 };
/* Of one stack.  OpenBLAS's kernels lie above 28 KiB of buffer full of old frames, so the right
 * caller may be the two-hundredth candidate.  A wrong one fails within a few frames. */
enum { MAX_TRIALS = 512, MAX_TRIAL_FRAMES = 4 * UNWIND_MAX_FRAMES };
/* The work for one stack, in words that guesses looked at, some 50 ns each: trials within trials
 * look through the same words again.  The first look at a pc counts as several words, because
 * hostile stacks have ever new ones. */
enum { MAX_WORK = 1 << 15, RULE_WORK = 16, INSN_UNWIND_WORK = 64 };
/* Frames of one stack whose rule has expressions, of up to 1000 steps each.  Signals' frames
 * have them, and code written by hand; compilers write none. */
enum { MAX_BY_EXPRESSION = 1024 };

struct cached_rule *walk_rule(struct walk *w, uint64_t pc, bool is_call)
{
    bool hit;
    struct cached_rule *rule = rule_cache_find(w->rules, pc - is_call, &hit);
    w->counters->rule_hits += hit;
    w->counters->rule_misses += !hit;
    w->counters->rules_shared += !hit && rule->is_shared;
    w->work += hit ? 0 : RULE_WORK;
    return rule;
}

bool walk_has_rule(struct walk *w, uint64_t pc, bool is_call)
{
    struct cached_rule *rule = walk_rule(w, pc, is_call);
    w->work += rule->found || rule->insn_state != INSN_RULE_UNTRIED ? 0 : INSN_UNWIND_WORK;
    return rule_cache_insn_unwind(w->rules, rule, pc) || rule->at_entry ||
           (is_call && rule_cache_is_exit(w->rules, rule, pc));
}

bool walk_is_costly(const struct walk *w)
{
    return w->work >= MAX_WORK;
}

static bool is_in_file(struct walk *w, uint64_t addr)
{
    struct module *module = modules_find(w->modules, addr);
    return module && module_elf(w->modules, module);
}

enum call_kind walk_call(struct walk *w, uint64_t return_addr, uint64_t *ret)
{
    enum { MAX_CALLS = 1 << 16, KIND_BITS = 8 };
    const uint64_t call = return_addr - 1;
    uint64_t known;
    if (is_in_file(w, call))
        return code_call(w->modules, return_addr, ret);
    const struct mapping *m = maps_find(modules_maps(w->modules), call);
    if (!m || !(m->prot & PROT_EXEC))
        return CALL_NONE;
    if (!map_get(w->calls, return_addr, &known)) {
        uint64_t target = return_addr;
        known = code_call(w->modules, return_addr, &target);
        known |= (target - return_addr) << KIND_BITS; /* 32 bits and a sign */
        if (w->calls->n >= MAX_CALLS)
            map_clear(w->calls);
        map_put(w->calls, return_addr, known);
    }
    *ret = return_addr + (uint64_t)((int64_t)known >> KIND_BITS);
    return (enum call_kind)(known & ((1U << KIND_BITS) - 1));
}

static bool add_frame(struct walk *w, const struct regs *regs, bool is_call, enum frame_trust trust)
{
    struct native_stack *out = w->out;
    if (w->nesting && (w->trial_frames++ >= MAX_TRIAL_FRAMES || walk_is_costly(w)))
        return false;
    if (out->n >= out->capacity || out->n >= UNWIND_MAX_FRAMES)
        return false;
    out->frames[out->n++] = (struct native_frame){
        .pc = regs->r[REG_PC],
        .sp = regs->r[REG_SP],
        .regs = *regs,
        .is_call = is_call,
        .trust = trust,
    };
    return true;
}

static enum unwind_end end_of(int error)
{
    if (error == -E2BIG)
        return UNWIND_TOO_DEEP;
    return error == -ERANGE ? UNWIND_STACK_CUT : UNWIND_BAD_MEMORY;
}

/* Counts a switch to another stack; false: there were too many. */
static bool switches_stack(struct walk *w)
{
    return ++w->stack_switches <= MAX_STACK_SWITCHES;
}

/* The stack pointer must rise.  Where it comes from a signal's context or from rbp, the frame
 * may have switched stacks, and vfork(2) keeps its return address in a register.  Such an
 * exception is believed a few times. */
static bool progresses(struct walk *w, const struct rule *rule, uint64_t sp, uint64_t caller_sp)
{
    if (caller_sp > sp)
        return true;
    bool may_switch = rule->is_signal || rule->cfa.reg != REG_SP;
    bool has_left = caller_sp == sp && rule->values[REG_PC].kind == VALUE_REG;
    return (may_switch || has_left) && switches_stack(w);
}

/* A signal handler returns to its trampoline, though no call there led to it.  So the code
 * before the return address need not belong to the trampoline. */
static struct cached_rule *rule_of(struct walk *w, const struct native_frame *f)
{
    struct cached_rule *rule = walk_rule(w, f->pc, f->is_call);
    if (rule->found || !f->is_call)
        return rule;
    struct cached_rule *at_pc = walk_rule(w, f->pc, false);
    return at_pc->found && at_pc->rule->is_signal ? at_pc : rule;
}

/* Behind clone's system call the new thread has 0 in rax, and no return address on its stack. */
static bool is_new_thread(struct walk *w, const struct native_frame *f)
{
    uint64_t word, ignored;
    if (f->regs.known & REG_BIT(REG_RESULT))
        return f->regs.r[REG_RESULT] == 0;
    return stack_view_u64(&w->view, f->sp, &word) < 0 || walk_call(w, word, &ignored) == CALL_NONE;
}

/* Is the last frame's code a place that no call led to?  Such an address is planted as the
 * return address of a stack's first function, with a nop before it for those who look at pc - 1.
 * Go's goexit is one. */
static bool is_planted(struct walk *w, const struct native_frame *f)
{
    uint8_t before[NOP_BYTES];
    uint64_t ignored;
    return f->is_call && code_read(w->modules, f->pc - NOP_BYTES, before, sizeof before) == 0 &&
           code_is_nop(before) && walk_call(w, f->pc, &ignored) == CALL_NONE;
}

/* The return address that RULE found for the last frame is 0.  The maker of a stack may have put
 * it there.  But 0 is the likeliest of all wrong words, and a wrong rbp finds two of them as
 * easily as one.  So a second sign must say that nothing called the function: the psABI's rbp of
 * 0 (§3.4.1), or a frame at the end of a page, where stacks begin. */
static bool is_first_function(struct walk *w, const struct rule *rule, const struct regs *caller)
{
    enum { PAGE_BYTES = 4096, TOP_BYTES = 24 };
    const struct native_frame *f = walk_last(w);
    bool no_outer_frame = rule->cfa.kind == VALUE_REG && rule->cfa.reg == REG_SP &&
                          caller->known & REG_BIT(REG_FP) && caller->r[REG_FP] == 0;
    return no_outer_frame || -f->cfa % PAGE_BYTES <= TOP_BYTES || is_planted(w, f);
}

/* rule_apply() to F; -E2BIG: too many frames of this stack were left by expressions. */
static int apply(struct walk *w, const struct rule *rule, struct native_frame *f,
                 struct regs *caller)
{
    if (rule->has_expressions && ++w->by_expression > MAX_BY_EXPRESSION)
        return -E2BIG;
    return rule_apply(rule, &f->regs, &w->view, &f->cfa, caller);
}

static int end_at_root(struct walk *w, enum unwind_end *end)
{
    w->at_root = true;
    *end = UNWIND_DONE;
    return 1;
}

/* Ends at the frame before the last one, whose pc is no code: the walk went astray there.
 * Perhaps nothing called that frame. */
static int end_at_gap(struct walk *w, enum unwind_end *end)
{
    w->out->n--;
    const struct native_frame *f = walk_last(w);
    struct cached_rule *cached = walk_rule(w, f->pc, f->is_call);
    if (f->is_call && rule_cache_is_exit(w->rules, cached, f->pc))
        return end_at_root(w, end);
    *end = UNWIND_NO_CFI;
    return 1;
}

/* From the last frame, which has no CFI, as step(). */
static int step_without_cfi(struct walk *w, struct cached_rule *cached, struct regs *caller,
                            enum unwind_end *end)
{
    bool has_caller = walk_by_code(w, cached, caller);
    walk_last(w)->entry = cached->entry;
    if (has_caller)
        return 0;
    *end = walk_stack_scan(w);
    return 1;
}

/* Goes from the last frame to its caller.  Returns 0, CALLER and how far to trust it; or 1 and the
 * END.  FIRST: the frame follows from no other. */
static int step(struct walk *w, bool first, struct regs *caller, enum frame_trust *trust,
                enum unwind_end *end)
{
    struct native_frame *f = walk_last(w);
    struct cached_rule *cached = rule_of(w, f);
    const struct rule *rule = cached->rule;
    *trust = cached->found ? FRAME_EXACT : FRAME_RECOVERED;
    if (!first && f->is_call && !cached->found && walk_is_unmapped(w, f))
        return end_at_gap(w, end);
    if (!cached->function) {
        rule_cache_find_entry(w->rules, cached);
        f->begin = cached->begin;
    }
    if (walk_is_root(w, cached))
        return end_at_root(w, end);
    if (!cached->found)
        return step_without_cfi(w, cached, caller, end);
    f->function = cached->function;
    f->is_signal = rule->is_signal;
    f->is_call &= !rule->is_signal;
    if (rule->is_root || (rule->is_clone && is_new_thread(w, f))) {
        (void)rule_cfa(rule, &f->regs, &w->view, &f->cfa);
        return end_at_root(w, end);
    }
    int r = apply(w, rule, f, caller);
    bool has_caller = r == 0 && progresses(w, rule, f->sp, caller->r[REG_SP]);
    /* A pc of 0 behind a signal is where the signal came: a call of nothing, whose caller's
     * address lies at its sp. */
    if (has_caller && (caller->r[REG_PC] != 0 || rule->is_signal))
        return 0;
    if (has_caller)
        *end = is_first_function(w, rule, caller) ? UNWIND_DONE : UNWIND_NO_CFI;
    else if (r == -ENODATA)
        *end = walk_recover_fp(w, cached);
    else
        *end = r < 0 ? end_of(r) : UNWIND_NO_PROGRESS;
    return 1;
}

/* The walk has left the stack: what it followed were no frames. */
static bool is_astray(enum unwind_end end)
{
    return end == UNWIND_NO_CFI || end == UNWIND_BAD_MEMORY || end == UNWIND_NO_PROGRESS;
}

/* The walk has come to END without a root, and frame BY_CODE is the first that was left by its
 * instructions.  Goes back to there and guesses.  If that leads to no root either, the longest
 * walk is kept. */
static enum unwind_end go_back(struct walk *w, size_t by_code, enum unwind_end end)
{
    struct native_stack *out = w->out;
    const size_t longest = out->n;
    size_t bytes = (longest - by_code) * sizeof *out->frames;
    struct native_frame *kept = NULL;
    w->trial_failed = true;
    if (!w->nesting) { /* of a trial nothing is kept */
        kept = xmalloc(bytes);
        memcpy(kept, &out->frames[by_code], bytes);
    }
    out->n = by_code + 1;
    out->frames[by_code].cfa = 0;
    enum unwind_end guessed = walk_stack_scan(w);
    if (kept && guessed != UNWIND_DONE) {
        memcpy(&out->frames[by_code], kept, bytes);
        out->n = longest;
    }
    free(kept);
    return guessed == UNWIND_DONE || guessed == UNWIND_STACK_CUT ? guessed : end;
}

enum unwind_end walk_from(struct walk *w, const struct regs *regs, bool is_call,
                          enum frame_trust trust)
{
    const size_t start = w->out->n;
    struct regs next = *regs;
    enum unwind_end end;
    size_t by_code = SIZE_MAX; /* the first frame that was left by a way out of its code */
    while (add_frame(w, &next, is_call, trust)) {
        struct regs caller;
        if (trust == FRAME_EXACT && stack_cache_join(w->stack_cache, w->out, &w->view, &w->at_root))
            return UNWIND_DONE;
        size_t at = w->out->n - 1;
        if (step(w, at == start, &caller, &trust, &end))
            return by_code == SIZE_MAX || !is_astray(end) ? end : go_back(w, by_code, end);
        if (trust == FRAME_RECOVERED && by_code == SIZE_MAX)
            by_code = at;
        is_call = !walk_last(w)->is_signal;
        next = caller;
    }
    return UNWIND_TOO_DEEP;
}

enum unwind_end walk_try(struct walk *w, const struct regs *regs, bool is_call,
                         enum frame_trust trust)
{
    const size_t n = w->out->n;
    const unsigned switches = w->stack_switches;
    if (w->nesting == MAX_NESTED_TRIALS || w->trials == MAX_TRIALS)
        return UNWIND_NO_CFI;
    w->trials++;
    w->nesting++;
    w->at_root = false;
    enum unwind_end end = walk_from(w, regs, is_call, trust);
    w->nesting--;
    if (end == UNWIND_DONE && w->at_root)
        return UNWIND_DONE;
    w->trial_failed = true;
    w->out->lacked_registers |= end == UNWIND_NEEDS_REGS;
    w->out->n = n;
    w->stack_switches = switches;
    return end == UNWIND_DONE ? UNWIND_NO_CFI : end;
}
