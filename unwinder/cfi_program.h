/* Executes the instructions of an FDE: the row of its table for one pc, as a rule.
 * Source: DWARF 5 §6.4.2; GNU extensions as in LSB 5 core "DWARF Extensions". */
#pragma once

#include "unwinder/cfi_entry.h"
#include "unwinder/rule.h"

/* The rule at ELF_ADDR, which lies in FDE's function.  It borrows the bytes of S for its
 * expressions.  Returns 0, or -ENOENT: the instructions are malformed as far as ELF_ADDR, or define
 * no CFA. */
int cfi_execute(const struct cfi_section *s, const struct cfi_fde *fde, uint64_t elf_addr,
                struct rule *ret);
