/* Whether libiberty may print a Rust symbol.  For each lifetime that a binder declares ("for<'a>")
 * it takes a step, also in the parts of a name that it does not print: a name of 20 bytes may keep
 * it busy for years.
 * Source: RFC 2603, "Syntax of mangled names"; rust-demangle.c of libiberty 2.40,
 * demangle_binder(). */
#pragma once

#include <stdbool.h>

/* Is NAME, without suffixes, by its grammar a symbol of the v0 scheme whose binders are all
 * small?  Looks at each byte once, and at 4 kB at most. */
bool rust_v0_is_sound(const char *name);
