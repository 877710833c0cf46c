/* The name of a function's DIE and where it was declared, interned and remembered.
 * Source: DWARF 5 § 3.3.1, 3.3.8; elfutils libdw.h. */
#pragma once

#include <elfutils/libdw.h>

#include "profile/profile.h"

struct die_name {
    string_id function; /* demangled, qualified; none: it has no name */
    string_id file;     /* of its declaration; none: unknown */
    uint32_t line;      /* DW_AT_decl_line; 0: unknown */
    uintptr_t origin;   /* the same for all instances of one function */
};

struct die_names;
struct die_names *die_names_new(struct profile *profile); /* borrowed */
/* DIE, a subprogram, is a child of its unit: nothing is around it.  This spares a search through
 * all of the unit. */
void die_names_at_top(struct die_names *n, const Dwarf_Die *die);
/* DIE: a subprogram, or an inlined call of one.  Valid until the next call. */
const struct die_name *die_names_get(struct die_names *n, Dwarf_Die *die);
/* Where the inlined call DIE was made; none and 0 where unknown. */
void die_names_call_site(struct die_names *n, Dwarf_Die *die, string_id *ret_file,
                         uint32_t *ret_line);
/* The id of PATH, libdw's string for a source file of UNIT: absolute if UNIT says where it was
 * compiled, without "//", "/./" and "x/../" in it.  NULL: none. */
string_id die_names_path(struct die_names *n, Dwarf_Die *unit, const char *path);
struct die_names *die_names_free(struct die_names *n); /* NULL is fine; returns NULL */
