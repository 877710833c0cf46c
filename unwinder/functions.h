/* Where the functions of a file begin and end, by its symbols: for code without CFI, which says so
 * itself.  Source:  System V gABI, symbol table. */
#pragma once

#include "target/elf_file.h"

struct functions;
/* Of FILE, which is not used later. */
struct functions *functions_new(struct elf_file *file);
/* The function that ELF_ADDR is in.  Returns 0 or -ENOENT. */
int functions_find(const struct functions *f, uint64_t elf_addr, struct addr_range *ret);
struct functions *functions_free(struct functions *f); /* NULL is fine; returns NULL */
