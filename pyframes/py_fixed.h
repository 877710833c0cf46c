/* Offsets into CPython's objects that no row of py_layout.c needs, since they are the same in all
 * versions that have them; each with how tools/gen-layout checks it: pyframes/py_fixed.def.
 * Private to pyframes/. */
#pragma once

#define PY_FIXED(name, bytes, ...)        name = (bytes),
#define PY_FIXED_UNSEEN(name, bytes, ...) name = (bytes),
enum py_fixed {
#include "pyframes/py_fixed.def"
};
#undef PY_FIXED
#undef PY_FIXED_UNSEEN
