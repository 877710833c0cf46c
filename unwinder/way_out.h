/* The rule of code without CFI, from the code itself: whatever way it takes from pc to a return instruction,
 * what it does to the stack pointer on that way says where the return address is, and its pops where the
 * caller's registers are.  So one way is looked for, through direct jumps and over calls.
 * Pure but for the reader.  Source: Intel SDM volume 2; x86-64 psABI §3.2. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "unwinder/rule.h"

/* Copies LEN bytes of code at ADDR; 0 or a negative errno. */
typedef int (*code_reader)(void *ctx, uint64_t addr, void *buf, size_t len);

/* The rule at PC, an instruction's start; it needs no release.  Returns 0, or -ENOENT: no way was found
 * (in a bounded number of instructions), or two ways to one place leave the stack pointer differently. */
int way_out_find(code_reader read, void *ctx, uint64_t pc, struct rule *ret);
