/* The rule of code without CFI, from the code itself.  The way out: whatever way it takes from pc
 * to a return instruction, what it does to the stack pointer on that way says where the return
 * address is, and its pops where the caller's registers are.  The way in, where it is known at
 * which address the function begins: the same from there to pc, also of functions that never
 * return.  So one way is looked for, through direct jumps and over calls.  Pure but for the reader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwinder/code_path.h"
#include "unwinder/rule.h"

/* The rule at PC, an instruction's start; it needs no release.  Returns 0, or -ENOENT: no way was found
 * (in a bounded number of instructions), or two ways to one place leave the stack pointer differently. */
int way_out_find(code_reader read, void *ctx, uint64_t pc, struct rule *ret);
/* The same by the way from START, a function's first instruction.  PC may be the end of the
 * function, behind its last call. */
int way_in_find(code_reader read, void *ctx, uint64_t start, uint64_t pc, struct rule *ret);
/* The rule of most instructions to which ways from START lead.  It is likely that of others in the
 * function, which are reached by indirect jumps as in interpreters.  Returns 0 or -ENOENT. */
int way_in_usual(code_reader read, void *ctx, uint64_t start, struct rule *ret);
/* Does the code at PC run straight, over calls, into the end of the thread: exit(2), or hlt, which
 * nobody may execute and which stands where a call that never returns would return to?  So does
 * what starts threads, coroutines and programs. */
bool way_is_exit(code_reader read, void *ctx, uint64_t pc);
