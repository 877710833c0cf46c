/* The code symbols of a module by address, from one or more ELF files.
 * Source: System V gABI, chapter 4; docs/symbols.md for the choice among aliases. */
#pragma once

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "target/elf_file.h"

struct symtab;

/* WANTED: N ascending addresses, the only ones that will be asked for; borrowed until
 * symtab_finish().  NULL: any address may be asked for. */
struct symtab *symtab_new(const uint64_t *wanted, size_t n);
/* Adds the symbols of ELF's .symtab and .dynsym, and the stubs of its procedure linkage table.
 * Borrows ELF for the table's life.  Leaves malformed symbols out. */
void symtab_add_elf(struct symtab *t, Elf *elf);
/* Adds the symbols that the dynamic linker sees, for an image without section headers.  Borrows
 * FILE. */
void symtab_add_exported(struct symtab *t, struct elf_file *file);
/* Call once, after all were added: reads them. */
void symtab_finish(struct symtab *t);
/* Puts the name of the code at ELF_ADDR, mangled as it stands in the file ("NAME@plt" for a
 * stub), into OUT.  RET_EXPORTED: other modules may call it by that name.  FUNCTION: where the
 * function at ELF_ADDR begins by CFI, 0: unknown; a symbol without a size that lies before it is
 * not its name.  False: no symbol covers ELF_ADDR. */
bool symtab_find(const struct symtab *t, uint64_t elf_addr, uint64_t function, struct text *out,
                 bool *ret_exported);
struct symtab *symtab_free(struct symtab *t); /* NULL is fine; returns NULL */
