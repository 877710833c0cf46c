/* Mangled C++ and Rust names → readable ones without parameter lists.  Pure but for the heap. */
#pragma once

#include "base/text.h"

/* Puts the readable form of NAME into OUT (cleared first); NAME itself if it is not mangled.  For
 * C++ the parameter list, return type and const/ref qualifiers go; template arguments stay, cut to
 * MAX_SHOWN_NAME_BYTES with "…".  Version suffixes (@@GLIBC_2.2.5) go; ".constprop.0", ".cold"
 * stay. */
void demangle(const char *name, struct text *out);
