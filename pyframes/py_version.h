/* Which Python a module contains: its version, or why it cannot be read.  Private to pyframes/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pyframes/py_layout.h"

struct py_version {
    uint32_t minor;
    char text[PY_VERSION_BYTES]; /* "3.11.7", or "3.8" if no more is known */
};

/* From PY_VERSION_HEX (0x030b07f0).  False: it is no Python 3's. */
bool py_version_from_hex(uint64_t hex, struct py_version *ret);
/* From a file name: libpython3.8.so.1.0, python3.11, python3.14t.  False: it names none. */
bool py_version_from_name(const char *name, struct py_version *ret);
/* Is it the name of a module that has nothing but the interpreter in it: python3.11,
 * libpython3.11.so.1.0? */
bool py_is_interpreter_name(const char *name);
/* From sys.version ("3.8.18 (default, …"), which Py_GetVersion() keeps in a static buffer, among
 * BYTES of variables that begin page-aligned.  MINOR 0: any up to 3.12; later ones say it in their
 * _Py_DebugOffsets. */
bool py_version_from_variables(const char *bytes, size_t len, uint32_t minor,
                               struct py_version *ret);
/* The name ("CPython 2", "PyPy", "GraalPy", "CPython 3.5") of an unsupported Python, by the PATH of
 * its runtime or of a library that only it has; NULL: PATH is of none. */
const char *py_unsupported_name(const char *path);
