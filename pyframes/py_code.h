/* Code objects → function, file, line.  Cached by address; an entry is checked against the live
 * object so that a reused address is noticed.  Used by the worker. */
#pragma once

#include "profile/profile.h"
#include "pyframes/py_walk.h"

struct py_codes;
/* LIVE: the target's live memory, read on first sight of a code object.  Borrows all. */
struct py_codes *py_codes_new(const struct py_runtime *rt, struct mem *live,
                              struct profile *profile);
/* Call before the frames of one stack are resolved: entries used by it are checked anew, with one
 * read. */
void py_codes_check(struct py_codes *c, const struct py_stack *stack);
/* Interns F (function, file, current line) in the profile.  *RET_HIDDEN: an interpreter's internal
 * frame (`<shim>`, the `__init__` helper) that users must not see.  Returns 0; -ESTALE: the object
 * is gone or was replaced, RET is then the frame "[unknown code]"; -EPROTO: malformed, likewise. */
int py_code_resolve(struct py_codes *c, const struct py_frame *f, frame_id *ret, bool *ret_hidden);
struct py_codes *py_codes_free(struct py_codes *c);
