/* Functions, lines and inlined calls by DWARF 2 to 5, also split or shared by dwz, of one file.
 * Source: DWARF 5 § 2.17, 3.3, 6.2; elfutils libdw.h. */
#pragma once

#include <elfutils/libdw.h>

#include "profile/profile.h"
#include "target/elf_file.h"

struct dwarf_names;

enum { MAX_INLINED = 64 }; /* calls inlined into each other; deeper ones are left out */

/* Reads which code DWARF describes, and no more: functions and lines are read when asked for.
 * DWARF is that of the file open at FD (-1: none).  CODE is the module whose addresses are
 * meant.  DWARF, CODE and PROFILE, which interns the strings, are borrowed for the names' life.
 * NULL: DWARF describes no code. */
struct dwarf_names *dwarf_names_open(Dwarf *dwarf, int fd, struct elf_file *code,
                                     struct profile *profile);
/* Fills RET (room for MAX_INLINED + 1) with the functions that run at ELF_ADDR, innermost first.
 * Returns the number of locations; 0: nothing is known.  The function of the only location may be
 * none where there is a line but no function (assembly). */
size_t dwarf_names_find(struct dwarf_names *d, uint64_t elf_addr, struct location *ret);
struct dwarf_names *dwarf_names_free(struct dwarf_names *d); /* NULL is fine; returns NULL */
