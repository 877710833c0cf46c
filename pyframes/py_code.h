/* Code objects → function, file, line.  Cached by address; an entry is checked against the live
 * object so that a reused address is noticed.  Used by the worker. */
#pragma once

#include "profile/profile.h"
#include "pyframes/py_walk.h"

struct py_codes;
/* LIVE: the target's live memory, read on first sight of a code object.  Borrows all. */
struct py_codes *py_codes_new(const struct py_runtime *rt, struct mem *live,
                              struct profile *profile);
/* Call before the frames of one stack are resolved: known code objects used by it are compared with
 * the target's, all in one read (MEM_MAX_SPANS a time), and forgotten if they changed or went.  If
 * the process is gone, what is known of it stays. */
void py_codes_check(struct py_codes *c, const struct py_stack *stack);
/* Interns F (function, file, current line) in the profile.  The function's name is its qualified
 * name from 3.11 on.  *RET_HIDDEN: an interpreter's internal frame (`<shim>`, the `__init__`
 * helper) that users must not see.  Returns 0; -ESTALE: the object is gone or was replaced, RET is
 * then the frame "[unknown code]"; -EPROTO: malformed, likewise.  The caller counts both.  The
 * target may be running. */
int py_code_resolve(struct py_codes *c, const struct py_frame *f, frame_id *ret, bool *ret_hidden);
struct py_codes *py_codes_free(struct py_codes *c);
