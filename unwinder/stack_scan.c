#include <errno.h>
#include <sys/mman.h>

#include "unwinder/code.h"
#include "unwinder/walk.h"

/* Frames of code without CFI are small: 64 KiB of stack are more than any scan needed. */
enum { MAX_SCAN_BYTES = 1 << 16 };

/* Is WORD code after a call that may lead to the last frame's, and from which a rule leads on?
 * A call straight to a function with CFI did not lead to code without it, unless by a tail jump:
 * such words are mostly left over from older calls.  TO_CFI asks for these, else for all others. */
static bool could_be_return(struct walk *w, const struct native_frame *f, uint64_t word,
                            bool to_cfi)
{
    uint64_t target;
    enum call_kind kind = walk_call(w, word, &target);
    if (kind == CALL_NONE || !walk_has_rule(w, word, true) ||
        walk_may_enter(w, word, f->pc, f->entry) == CALL_ELSEWHERE)
        return false;
    bool direct_to_cfi = kind == CALL_DIRECT && walk_rule(w, target, false)->found &&
                         !code_is_stub(w->modules, target);
    return direct_to_cfi == to_cfi;
}

/* Tries the word WORD at ADDR as return address: first as if the code had left the callee-saved
 * registers alone, then as if it had not. */
static enum unwind_end try_return(struct walk *w, uint64_t addr, uint64_t word)
{
    struct regs caller = walk_last(w)->regs;
    caller.r[REG_PC] = word;
    caller.r[REG_SP] = addr + 8;
    caller.known &= REGS_PRESERVED;
    const reg_set position = REG_BIT(REG_PC) | REG_BIT(REG_SP);
    const bool nothing_else = !caller.known;
    caller.known |= position;
    enum unwind_end end = walk_try(w, &caller, true, FRAME_GUESSED);
    if (end == UNWIND_DONE || nothing_else)
        return end;
    caller.known = position;
    return walk_try(w, &caller, true, FRAME_GUESSED);
}

static enum unwind_end scan(struct walk *w, bool to_cfi)
{
    const size_t at = w->out->n - 1;
    const struct native_frame f = w->out->frames[at];
    const uint64_t start = f.sp & ~UINT64_C(7);
    for (uint64_t addr = start; addr - start < MAX_SCAN_BYTES && !walk_is_costly(w); addr += 8) {
        uint64_t word;
        w->work++;
        int r = stack_view_u64(&w->view, addr, &word);
        if (r < 0)
            return r == -ERANGE ? UNWIND_STACK_CUT : UNWIND_NO_CFI;
        if (!could_be_return(w, &f, word, to_cfi))
            continue;
        enum unwind_end end = try_return(w, addr, word);
        if (end == UNWIND_DONE)
            w->out->frames[at].cfa = addr + 8;
        if (end == UNWIND_DONE || end == UNWIND_STACK_CUT)
            return end;
    }
    return UNWIND_NO_CFI;
}

/* Code of JIT compilers mostly keeps frame records, and so does an interpreter (java's) for
 * calls that it makes by jumps.  Takes the first record from the one at rbp on whose return
 * address could be one. */
static enum unwind_end follow_records(struct walk *w)
{
    enum { MAX_RECORDS = 256, MAX_FRAME_BYTES = 1 << 20, RECORD_BYTES = 16 };
    const size_t at = w->out->n - 1;
    const struct native_frame f = w->out->frames[at];
    uint64_t record = f.regs.r[REG_FP];
    uint64_t last = f.sp;
    if (!(f.regs.known & REG_BIT(REG_FP)) || modules_find(w->modules, f.pc))
        return UNWIND_NO_CFI;
    for (unsigned i = 0; i < MAX_RECORDS && record - last < MAX_FRAME_BYTES; i++) {
        uint64_t outer;
        uint64_t word;
        w->work++;
        if (stack_view_u64(&w->view, record, &outer) < 0 ||
            stack_view_u64(&w->view, record + sizeof outer, &word) < 0)
            break;
        struct regs caller = {.known = REG_BIT(REG_PC) | REG_BIT(REG_SP) | REG_BIT(REG_FP)};
        caller.r[REG_PC] = word;
        caller.r[REG_SP] = record + RECORD_BYTES;
        caller.r[REG_FP] = outer;
        if (could_be_return(w, &f, word, false) &&
            walk_try(w, &caller, true, FRAME_GUESSED) == UNWIND_DONE) {
            w->out->frames[at].cfa = record + RECORD_BYTES;
            return UNWIND_DONE;
        }
        last = record + RECORD_BYTES;
        record = outer;
    }
    return UNWIND_NO_CFI;
}

/* A word that is no code shows that a trial went astray, and must not be bridged.  A stack is
 * never code, though a library built without .note.GNU-stack makes it executable (MKL does, in
 * torch 1.12). */
static bool is_code(struct walk *w, const struct native_frame *f)
{
    const struct mapping *m = maps_find(modules_maps(w->modules), f->pc);
    return m && m->prot & PROT_EXEC && !(m->start <= f->sp && f->sp < m->end);
}

enum unwind_end walk_stack_scan(struct walk *w)
{
    const size_t at = w->out->n - 1;
    if (w->nesting && !is_code(w, &w->out->frames[at]))
        return UNWIND_NO_CFI;
    if (!w->nesting)
        w->counters->fallbacks++;
    enum unwind_end end = follow_records(w);
    if (end == UNWIND_NO_CFI)
        end = scan(w, false);
    return end == UNWIND_NO_CFI ? scan(w, true) : end;
}
