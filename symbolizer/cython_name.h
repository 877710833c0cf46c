/* What Cython calls the C functions that it makes: "__pyx_pw_4yaml_5_yaml_7CParser_9open" is
 * CParser.open.  A name is a prefix, scopes with their lengths, a number, unless it is a C
 * function, and the function's own.  Source: Cython/Compiler/Naming.py and Symtab.py,
 * Scope.mangle(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Appends of NAME, LEN bytes, the innermost scope, a class or a module, and the function's name.
 * False: it is none of these, and nothing is appended. */
bool cython_name_add(const char *name, size_t len, struct text *out);
