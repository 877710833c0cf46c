/* The functions to which the stubs of a procedure linkage table jump.  x86-64 only.
 * Source: x86-64 psABI § 5.2 (lazy stubs), § 13.2 (.plt.sec); ld's .plt.got. */
#pragma once

#include <libelf.h>
#include <stdint.h>

/* Calls FN for every stub whose target has a name.  START and LEN are ELF addresses and bytes; NAME
 * is in ELF's string table and may end in a version. */
void plt_each_stub(Elf *elf, void (*fn)(void *ctx, uint64_t start, uint64_t len, const char *name),
                   void *ctx);
