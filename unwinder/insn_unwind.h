/* The rule of code without CFI, from the code's own instructions.  A path from pc to a return
 * instruction says, by what its instructions do to the stack pointer, where the return address
 * is, and by its pops where the caller's registers are.  Where the function's start is known, a
 * path from there to pc says the same, also of functions that never return.  One path is looked
 * for, through direct jumps and over calls.  Pure but for the reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/code_path.h"
#include "unwinder/rule.h"

/* The rule at PC, an instruction's start.  It needs no release.  Returns 0, or -ENOENT: no path
 * was found in a bounded number of instructions, or two paths to one place leave the stack
 * pointer differently. */
int insn_unwind_to_return(code_reader read, void *ctx, uint64_t pc, struct rule *ret);
/* The same by a path from START, a function's first instruction.  PC may be the end of the
 * function, behind its last call. */
int insn_unwind_from_entry(code_reader read, void *ctx, uint64_t start, uint64_t pc,
                           struct rule *ret);
/* The rule of most instructions that paths from START reach.  It is likely the rule of the
 * others in the function, which are reached by indirect jumps, as in interpreters.  Returns 0 or
 * -ENOENT. */
int insn_unwind_usual(code_reader read, void *ctx, uint64_t start, struct rule *ret);
/* Does the code at PC run straight, over calls, into the end of the thread?  That is exit(2), or
 * hlt, which nobody may execute: it stands where a call that never returns would return to.  The
 * code that starts threads, coroutines and programs ends so. */
bool insn_unwind_is_exit(code_reader read, void *ctx, uint64_t pc);
