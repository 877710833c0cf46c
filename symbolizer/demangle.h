/* Mangled C++, Rust and Cython names → readable ones without parameter lists.  Pure but for the
 * heap. */
#pragma once

#include "base/text.h"

enum {
    /* Names longer than this are cut: a limit of taste, few templates in LLVM reach it. */
    MAX_SHOWN_NAME_BYTES = 1000,
};

/* Puts the readable form of NAME into OUT (cleared first), or NAME itself if it is not mangled or
 * not well-formed.  C++ names lose their parameter list, return type and const/ref qualifiers, also
 * those of functions around a local class or lambda; template arguments stay.  Rust names lose
 * their hash; of Cython's scopes the innermost stays.  Suffixes for versions and renamings go
 * (@@GLIBC_2.2.5, .llvm.N, .lto_priv.N).  Suffixes for parts and variants of the code stay as they
 * are (.cold, .constprop.0, @plt).  OUT is at most MAX_SHOWN_NAME_BYTES long, cut at a character
 * with "…".  Any bytes may be given: time, stack and memory are bounded.
 * Source: Itanium C++ ABI § 5.1; Rust RFC 2603; libiberty's demangle.h. */
void demangle(const char *name, struct text *out);

/* Cuts T to MAX_SHOWN_NAME_BYTES in the same manner. */
void shown_name_cut(struct text *t);
