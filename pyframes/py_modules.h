/* Finds what a module of the target's main interpreter has.  The target may be running: what
 * changes meanwhile is not found.  Source: CPython Objects/moduleobject.c (PyModuleObject),
 * Include/internal/pycore_interp.h (the dict of modules). */
#pragma once

#include "pyframes/py_runtime.h"

/* The value of NAME in the module MODULE ("asyncio.tasks").  Returns 0; -ENOENT: the module is not
 * loaded, or has no such name; what py_interpreters_main() and py_dict_read() say. */
int py_module_find(const struct py_runtime *rt, struct mem *live, const char *module,
                   const char *name, uint64_t *ret);
