/* Where the functions of a file begin and end, for code whose CFI does not say so: by the file's
 * symbols, else by what its code calls.
 * Source: System V gABI, symbol table; Intel SDM volume 2. */
#pragma once

#include "target/elf_file.h"

struct functions;
/* Of FILE, borrowed. */
struct functions *functions_new(struct elf_file *file);
/* The function that ELF_ADDR is in, by a symbol.  Returns 0 or -ENOENT. */
int functions_find(const struct functions *f, uint64_t elf_addr, struct addr_range *ret);
/* Where the function that ELF_ADDR is in seems to begin: the last place before it that is
 * called, or whose address is taken, somewhere in the file.  0: unknown, or there is too much
 * code to read. */
uint64_t functions_begin(struct functions *f, uint64_t elf_addr);
struct functions *functions_free(struct functions *f); /* NULL is fine; returns NULL */
