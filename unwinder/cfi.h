/* The call frame information of one ELF file: .eh_frame, and .debug_frame for what that leaves out.
 * Source: LSB 5 core "Exception Frames", DWARF 5 §6.4. */
#pragma once

#include <stdint.h>

#include "target/elf_file.h"
#include "unwinder/rule.h"

struct cfi;

/* Borrows F.  Never fails: a file may have none. */
struct cfi *cfi_open(struct elf_file *f);
/* The rule at ELF_ADDR, valid as long as C, and the function (its FDE) in ELF addresses.  Returns 0
 * or -ENOENT. */
int cfi_find(const struct cfi *c, uint64_t elf_addr, struct rule *ret,
             struct addr_range *ret_function);
struct cfi *cfi_free(struct cfi *c); /* NULL is fine; returns NULL */
