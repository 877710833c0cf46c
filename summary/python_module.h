/* Python's installed modules, by the files of their code. */
#pragma once

#include "base/text.h"

/* Is FUNCTION, of a program that CPython is linked into, CPython's by its name? */
bool python_has_function(const char *function);
/* Is FILE, a relative path, that of a module of the standard library in a frozen program
 * (PyInstaller), whose code has no other path? */
bool python_is_frozen_library(const char *file);
/* The path of FILE within the standard library or the installed packages, "sympy/core/basic.py" of
 * "/venv/lib/python3.11/site-packages/sympy/core/basic.py".  It is a part of FILE; NULL: FILE is
 * the user's. */
const char *python_installed_path(const char *file);
/* Is FILE one of asyncio's own?  A library may have a folder of that name, too. */
bool python_is_asyncio(const char *file);
/* Appends the module's name, "sympy.core.basic", for such a path, which is the target's text. */
void python_module_add(struct text *out, const char *installed_path);
/* How many bytes of such a path are the name of the package, "sympy". */
size_t python_package_length(const char *installed_path);
