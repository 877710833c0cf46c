/* The sources of names for the code of one module: DWARF of its file or of its separate debug file,
 * then the symbol tables.  It is opened when the module's addresses are looked up and closed after
 * that, so that a debug file that is replaced later is not kept mapped. */
#pragma once

#include "profile/profile.h"
#include "symbolizer/debug_file.h"
#include "target/elf_file.h"

struct module_names;

/* FILE is borrowed; PATH is where the target mapped it from, "" if unknown. */
struct module_names *module_names_open(struct elf_file *file, const char *path,
                                       struct debug_search *search, struct profile *profile);
/* Only the N ascending addresses at WANTED, borrowed, will be looked up.  This spares reading
 * all symbols.  Call it before the first look-up. */
void module_names_want(struct module_names *m, const uint64_t *wanted, size_t n);
/* Fills RET (room for MAX_INLINED + 1) with the functions that run at ELF_ADDR, innermost first.
 * FUNCTION: where the function there begins by its CFI; 0: unknown.  Returns how many; 0:
 * ELF_ADDR has no name. */
size_t module_names_find(struct module_names *m, uint64_t elf_addr, uint64_t function,
                         struct location *ret);
struct module_names *module_names_close(struct module_names *m); /* NULL is fine; returns NULL */
