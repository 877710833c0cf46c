/* Code objects → function, file, line.  Cached by address.  Each entry is checked against what the
 * capture recorded, or else against the live object, which shows when another object has taken the
 * address.  Used by the worker. */
#pragma once

#include "profile/profile.h"
#include "pyframes/py_walk.h"

struct py_codes;
struct py_code_store;
/* LIVE: the target's live memory, for what captures did not record.  STORE: what processes share;
 * NULL: nothing.  Borrows all. */
struct py_codes *py_codes_new(const struct py_runtime *rt, struct mem *live,
                              struct profile *profile, struct py_code_store *store);
/* Call before the frames of STACK are resolved.  RECORDED: its snapshot's memory; TAKEN_NS: when
 * the snapshot was taken, clock_now_ns().  Compares the known code objects of STACK with what was
 * recorded.  One that was not recorded is compared with the live target, many in one read, unless
 * that was done since TAKEN_NS.  Forgets a code object whose place another has taken; one that was
 * freed stays known. */
void py_codes_check(struct py_codes *c, struct mem *recorded, int64_t taken_ns,
                    const struct py_stack *stack);
/* Interns F (function, file, current line) in the profile.  The function's name is the qualified
 * one from 3.11 on.  RECORDED: as above; what it lacks is read from live memory.  *RET_HIDDEN: it
 * is an internal frame of the interpreter (`<shim>`, the `__init__` helper), which users must not
 * see.  Returns 0; -ESTALE: the object is gone or was replaced, RET is the frame "[unknown code]";
 * -EPROTO: it is malformed, or this stack has used up its budget of line tables and names (256 MiB;
 * of names alone 16 MiB), RET is "[unknown code]" or F without its line.  The caller counts
 * failures.  The target may be running. */
int py_code_resolve(struct py_codes *c, struct mem *recorded, const struct py_frame *f,
                    frame_id *ret, bool *ret_hidden);
/* F's lasti, or PY_LASTI_UNKNOWN.  Reads LIVE if the thread runs its own copy of the bytecode.  The
 * target may be running. */
int32_t py_code_lasti(const struct py_runtime *rt, struct mem *live, const struct py_frame *f);
/* Is the code object at CODE the function NAME (unqualified) of a file whose path ends in FILE, as
 * path_ends() has it?  The target may be running. */
bool py_code_is(const struct py_layout *l, struct mem *live, uint64_t code, const char *name,
                const char *file);
/* How many code objects were looked up unknown, or forgotten.  While it grows, the program makes
 * code objects that may not live long: resolve stacks soon. */
uint64_t py_codes_changes(const struct py_codes *c);
struct py_codes *py_codes_free(struct py_codes *c);
