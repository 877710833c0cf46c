#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "unwinder/code.h"
#include "unwinder/walk.h"

/* Functions larger than this are not worth reading whole. */
enum { MAX_FUNCTION_BYTES = 1 << 18 };

/* A cold part begins in mid-function: its FDE does not start with the frame of a call. */
static bool starts_as_function(struct walk *w, uint64_t function)
{
    const struct cached_rule *start = walk_rule(w, function, false);
    const struct value_rule *cfa = &start->rule.cfa;
    return start->found && cfa->kind == VALUE_REG && cfa->reg == X86_RSP && cfa->offset == 8;
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

/* Remembered, since the same calls block again and again. */
static enum call_verdict call_leads_to(struct walk *w, uint64_t return_addr, uint64_t function)
{
    enum { VERDICT_BITS = 2 };
    uint64_t known;
    if (map_get(w->verdicts, return_addr, &known) && known >> VERDICT_BITS == function)
        return (enum call_verdict)(known & 3);
    enum call_verdict v = code_call_leads_to(w->modules, return_addr, function);
    map_put(w->verdicts, return_addr, function << VERDICT_BITS | v);
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
    if (cfa->reg != X86_RBP)
        return false;
    return p->is_drap ? cfa->kind == VALUE_AT_REG : cfa->kind == VALUE_REG && cfa->offset == 16;
}

/* Has the caller, by the rbp that was saved for it, as much room as its own prologue takes?  Then two functions say the
 * same of one word, and an indirect call needs no other witness. */
static bool caller_agrees(struct walk *w, struct cached_rule *rule, const struct regs *caller)
{
    const struct prologue *p = prologue_of(w, rule);
    return p && is_rbp_frame(&rule->rule, p) && caller->known & 1U << X86_RBP &&
           caller->r[X86_PC] - rule->function > p->end &&
           caller->r[X86_RBP] - caller->r[X86_RSP] == p->depth;
}

enum unwind_end walk_recover(struct walk *w, struct cached_rule *rule)
{
    struct native_frame *f = walk_last(w);
    const struct prologue *p = prologue_of(w, rule);
    if (f->regs.known & 1U << X86_RBP || !p || !is_rbp_frame(&rule->rule, p) ||
        f->pc - rule->function < p->end)
        return UNWIND_NEEDS_REGS;

    struct regs regs = f->regs, caller;
    uint64_t cfa;
    regs.r[X86_RBP] = f->sp + p->depth;
    regs.known |= 1U << X86_RBP;
    int r = rule_apply(&rule->rule, &regs, &w->view, &cfa, &caller);
    if (r == -ERANGE)
        return UNWIND_STACK_CUT;
    if (r < 0 || cfa <= f->sp || (p->is_drap && !drap_agrees(w, regs.r[X86_RBP], cfa)))
        return UNWIND_NEEDS_REGS;

    struct cached_rule *caller_rule = walk_rule(w, caller.r[X86_PC], true);
    enum call_verdict verdict = CALL_TO_IT;
    if (!caller_rule->found)
        return UNWIND_NEEDS_REGS;
    if (!caller_rule->rule.is_signal)
        verdict = call_leads_to(w, caller.r[X86_PC], rule->function);
    if (verdict == CALL_ELSEWHERE)
        return UNWIND_NEEDS_REGS;
    bool proven = verdict == CALL_TO_IT || caller_agrees(w, caller_rule, &caller);
    enum frame_trust trust = proven ? FRAME_RECOVERED : FRAME_GUESSED;
    size_t at = w->out->n - 1;
    enum unwind_end end = walk_try(w, &caller, true, trust);
    if (end != UNWIND_DONE)
        return end == UNWIND_STACK_CUT ? end : UNWIND_NEEDS_REGS;
    w->out->frames[at].regs = regs;
    w->out->frames[at].cfa = cfa;
    return UNWIND_DONE;
}
