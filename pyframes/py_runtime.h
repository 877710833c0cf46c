/* A CPython runtime inside a target: where it is and how its structures are laid out.  Immutable
 * once found, so the sampler's thread and the worker may share it.  One per target and exec.
 * Source: docs/python-versions.md; CPython Include/internal/pycore_runtime.h per version;
 * _Py_DebugOffsets from 3.13 on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "target/mem.h"
#include "target/modules.h"

struct py_runtime;
struct py_layout; /* pyframes/py_layout.h, private to pyframes/ */

/* Looks for CPython among the mapped modules.  MEM: live.  Returns 0; -ENOENT: no Python here
 * (yet); -EAGAIN: one that is not initialised yet; -ENOTSUP: one that this version cannot read, ERR
 * says which ("CPython 3.99 is unknown to this version"). */
int py_runtime_find(struct py_runtime **ret, struct modules *modules, struct mem *mem,
                    struct err *err);
const char *py_runtime_version(const struct py_runtime *rt); /* "3.11.7" */
/* Up to 3.10 an interpreter that just starts does not say its patch level yet ("3.10").  Looks for
 * it again, in MODULES and MEM (live).  Returns whether it was found now. */
bool py_runtime_find_patch_level(struct py_runtime *rt, struct modules *modules, struct mem *mem);
/* Is ADDR in the module that holds the interpreter (libpython, python3.11, or a program that has
 * libpython.a linked into it)? */
bool py_runtime_owns(const struct py_runtime *rt, uint64_t addr);
/* The flag of frames of code at ADDR: FRAME_IS_INTERPRETER, FRAME_IS_EMBEDDING where the module has
 * a program's own functions, too, or 0. */
uint32_t py_runtime_frame_flags(const struct py_runtime *rt, uint64_t addr);
struct py_runtime *py_runtime_free(struct py_runtime *rt);
