#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/code.h"
#include "unwinder/walk.h"

/* Functions larger than this are not worth reading whole. */
enum { MAX_FUNCTION_BYTES = 1 << 18 };
enum { FRAME_ALIGN = 16 }; /* of rbp, see prologue_fits() */

/* A cold part begins in mid-function: its FDE does not start with the frame of a call. */
static bool starts_as_function(struct walk *w, uint64_t function)
{
    const struct cached_rule *start = walk_rule(w, function, false);
    const struct value_rule *cfa = &start->rule->cfa;
    return start->found && cfa->kind == VALUE_REG && cfa->reg == REG_SP && cfa->offset == 8;
}

static const struct prologue *prologue_of(struct walk *w, struct cached_rule *rule)
{
    if (rule->prologue_state != PROLOGUE_UNTRIED)
        return rule->prologue_state == PROLOGUE_KNOWN ? &rule->prologue : NULL;
    rule->prologue_state = PROLOGUE_NONE;
    uint64_t bytes = rule->function_bytes;
    if (!rule->function || bytes > MAX_FUNCTION_BYTES || !starts_as_function(w, rule->function))
        return NULL;
    uint8_t *code = xmalloc(bytes);
    bool known = code_read(w->modules, rule->function, code, bytes) == 0 &&
                 prologue_decode(code, bytes, &rule->prologue) == 0;
    free(code);
    if (known)
        rule->prologue_state = PROLOGUE_KNOWN;
    return known ? &rule->prologue : NULL;
}

/* Remembered, because the same calls block again and again. */
static enum call_target_check check_call_target(struct walk *w, uint64_t return_addr,
                                                uint64_t function)
{
    enum { CHECK_BITS = 2, MAX_CALL_TARGETS = 1 << 16, CHECK_WORK = 2048 };
    uint64_t known;
    if (map_get(w->call_targets, return_addr, &known) && known >> CHECK_BITS == function)
        return (enum call_target_check)(known & 3);
    enum call_target_check v = code_check_call_target(w->modules, return_addr, function);
    w->work += CHECK_WORK; /* it may go through all relocations of a file */
    if (w->call_targets->n >= MAX_CALL_TARGETS)
        map_clear(w->call_targets);
    map_put(w->call_targets, return_addr, function << CHECK_BITS | v);
    return v;
}

/* A realigned frame has its return address twice: where it was called, and above rbp. */
static bool drap_agrees(struct walk *w, uint64_t rbp, uint64_t cfa)
{
    uint64_t copy, original;
    return stack_view_u64(&w->view, rbp + 8, &copy) == 0 &&
           stack_view_u64(&w->view, cfa - 8, &original) == 0 && copy == original;
}

static bool is_rbp_frame(const struct rule *rule, const struct prologue *p)
{
    const struct value_rule *cfa = &rule->cfa;
    if (cfa->reg != REG_FP)
        return false;
    return p->is_drap ? cfa->kind == VALUE_AT_REG : cfa->kind == VALUE_REG && cfa->offset == 16;
}

/* Where rbp may point, and what follows from it. */
struct rbp_candidate {
    struct regs regs, caller;
    uint64_t cfa;
    struct cached_rule *caller_rule;
    enum call_target_check target_check;
};

/* Most of several places hold no return address: these need no rule. */
static bool may_return_to(struct walk *w, uint64_t addr)
{
    uint64_t target;
    return walk_call(w, addr, &target) != CALL_NONE || code_is_sigreturn(w->modules, addr);
}

/* Returns 0; -ENOENT: rbp is not RBP; -ERANGE: too little of the stack was copied to tell. */
static int try_rbp(struct walk *w, const struct cached_rule *rule, uint64_t rbp,
                   struct rbp_candidate *ret)
{
    const struct native_frame *f = walk_last(w);
    ret->regs = f->regs;
    ret->regs.r[REG_FP] = rbp;
    ret->regs.known |= REG_BIT(REG_FP);
    int r = rule_apply(rule->rule, &ret->regs, &w->view, &ret->cfa, &ret->caller);
    if (r == -ERANGE)
        return r;
    if (r < 0 || ret->cfa <= f->sp || (rule->prologue.is_drap && !drap_agrees(w, rbp, ret->cfa)) ||
        (rule->prologue.align && !may_return_to(w, ret->caller.r[REG_PC])))
        return -ENOENT;
    ret->caller_rule = walk_rule(w, ret->caller.r[REG_PC], true);
    if (!ret->caller_rule->found)
        return -ENOENT;
    ret->target_check = ret->caller_rule->rule->is_signal
                            ? CALL_TO_IT
                            : check_call_target(w, ret->caller.r[REG_PC], rule->function);
    return ret->target_check == CALL_ELSEWHERE ? -ENOENT : 0;
}

/* The one place that is likelier than all others.  -ENOENT: no place is.  -ERANGE as above. */
static int find_rbp(struct walk *w, const struct cached_rule *rule, struct rbp_candidate *ret)
{
    const struct prologue *p = &rule->prologue;
    uint64_t sp = walk_last(w)->sp;
    size_t n = 0;
    uint64_t rbp = sp + p->depth;
    if (p->align)
        rbp += -rbp % FRAME_ALIGN;
    for (; prologue_fits(p, sp, rbp); rbp += FRAME_ALIGN) {
        struct rbp_candidate c;
        int r = try_rbp(w, rule, rbp, &c);
        if (r == -ERANGE)
            return r;
        if (r < 0 || (n && c.target_check == CALL_UNKNOWN && ret->target_check == CALL_TO_IT))
            continue;
        n = n && c.target_check == ret->target_check ? n + 1 : 1;
        *ret = c;
    }
    return n == 1 ? 0 : -ENOENT;
}

/* Does the rbp that was saved for the caller agree with the caller's prologue?  Then two
 * functions confirm one word, and an indirect call needs no other witness. */
static bool caller_agrees(struct walk *w, const struct rbp_candidate *c)
{
    struct cached_rule *rule = c->caller_rule;
    const struct prologue *p = prologue_of(w, rule);
    const struct regs *caller = &c->caller;
    return p && is_rbp_frame(rule->rule, p) && caller->known & REG_BIT(REG_FP) &&
           caller->r[REG_PC] - rule->function > p->end &&
           prologue_fits(p, caller->r[REG_SP], caller->r[REG_FP]);
}

/* Only where a thread was found: no call is made there. */
static bool is_in_epilogue(struct walk *w, const struct native_frame *f)
{
    uint8_t code[INSN_MAX_BYTES];
    return !f->is_call && (code_read(w->modules, f->pc, code, sizeof code) < 0 ||
                           prologue_is_undone(code, sizeof code));
}

enum unwind_end walk_recover_fp(struct walk *w, struct cached_rule *rule)
{
    struct native_frame *f = walk_last(w);
    const struct prologue *p = prologue_of(w, rule);
    if (f->regs.known & REG_BIT(REG_FP) || !p || !is_rbp_frame(rule->rule, p) ||
        f->pc - rule->function < p->end || is_in_epilogue(w, f))
        return UNWIND_NEEDS_REGS;
    struct rbp_candidate c;
    int r = find_rbp(w, rule, &c);
    if (r < 0)
        return r == -ERANGE ? UNWIND_STACK_CUT : UNWIND_NEEDS_REGS;
    bool proven = c.target_check == CALL_TO_IT || caller_agrees(w, &c);
    enum frame_trust trust = proven ? FRAME_RECOVERED : FRAME_GUESSED;
    size_t at = w->out->n - 1;
    enum unwind_end end = walk_try(w, &c.caller, true, trust);
    if (end != UNWIND_DONE)
        return end == UNWIND_STACK_CUT ? end : UNWIND_NEEDS_REGS;
    w->out->frames[at].regs = c.regs;
    w->out->frames[at].cfa = c.cfa;
    return UNWIND_DONE;
}
