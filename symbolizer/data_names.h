/* Names of global variables, for the locks that threads wait for.  Pure but for the file.
 * Source: System V gABI, chapter 4. */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Puts the demangled name of the variable that ELF_ADDR lies in ("db", "Cache::lock") into OUT, by
 * the first .symtab and the first .dynsym of ELF, each to its four-millionth symbol.  An exported
 * name comes before a local one.  False: none covers it. */
bool data_name_find(Elf *elf, uint64_t elf_addr, struct text *out);
