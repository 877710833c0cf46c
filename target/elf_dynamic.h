/* Symbols by name through PT_DYNAMIC and its hash tables, as the dynamic linker finds them.  Needs
 * no section headers.  Private to target/.
 * Source: System V gABI "Dynamic Section", "Hash Table"; for DT_GNU_HASH the glibc and binutils
 * sources, elf/dl-lookup.c. */
#pragma once

#include "target/elf_layout.h"

enum { ELF_MAX_DYNAMIC_SYMBOLS = 4000000 };

struct elf_dynamic {
    uint64_t symbols, strings, strings_bytes; /* ELF addresses */
    uint64_t gnu_hash, hash;                  /* 0: none */
};

/* READ takes ELF addresses.  BIAS: pointers may have been relocated by it (memory); 0 for a file.
 * Returns 0 or -ENOENT. */
int elf_dynamic_read(struct elf_dynamic *ret, const struct elf_layout *l, elf_reader read,
                     void *ctx, uint64_t bias);
/* A defined symbol.  Returns 0 or -ENOENT. */
int elf_dynamic_symbol(const struct elf_dynamic *d, elf_reader read, void *ctx, const char *name,
                       struct addr_range *ret);
/* How many symbols there are, as far as the hash tables tell; ELF_MAX_DYNAMIC_SYMBOLS at most. */
uint32_t elf_dynamic_count(const struct elf_dynamic *d, elf_reader read, void *ctx);
